import { type TcpField, trafficFields } from '#contract/events/traffic-fields.ts'
import type { ClientConnection } from '#http/exchange.ts'
import { wallTime } from '#base/wall-time.ts'
import { type Getters, type WriteFields, writerOf } from '#telemetry/traffic/writer.ts'

/** A finished connection without HTTP. Times are by `performance.now`. */
export interface SeenConnection {
  readonly client: ClientConnection
  readonly begun: number
  readonly ended: number
  /** Bytes from the client, and to it. */
  readonly received: number
  readonly sent: number
  /** The decision of the IP policies; undefined without any. */
  readonly decision: 'allow' | 'block' | undefined
}

const table = trafficFields['tcp_connection_closed.v0']

const getters: Getters<typeof table, SeenConnection> = {
  'conn.client_ip': ({ client }) => client.ip,
  'conn.server_ip': ({ client }) => client.localIp,
  'conn.server_name': ({ client }) => client.serverName ?? '',
  'conn.server_port': ({ client }) => client.localPort,
  'conn.start_ts': ({ client, begun }) => wallTime(client.since ?? begun),
  'ip_policy.decision': ({ decision }) => decision,
  ja4_fingerprint: ({ client }) => client.ja4,
  // Traffic policies are not supported, so this is empty.
  'traffic_policy.logs': () => [],
  'conn.bytes_in': ({ received }) => received,
  'conn.bytes_out': ({ sent }) => sent,
  'conn.end_ts': ({ ended }) => wallTime(ended),
}

export const tcpWriter = (wanted: readonly TcpField[]): WriteFields<SeenConnection> =>
  writerOf(table, getters, wanted)
