import { type EnvelopeParts, envelopeParts } from '#contract/events/envelope.ts'
import type { HttpField, TcpField, TrafficType } from '#contract/events/traffic-fields.ts'
import { newId } from '#base/ids.ts'
import { httpWriter, type SeenRequest } from '#telemetry/traffic/http-fields.ts'
import { wallTime } from '#base/wall-time.ts'
import { rfc3339 } from '#telemetry/traffic/time.ts'
import { type SeenConnection, tcpWriter } from '#telemetry/traffic/tcp-fields.ts'
import type { WriteFields } from '#telemetry/traffic/writer.ts'

/** The selected fields of each event type; empty: no subscriber. Sent between processes. */
export interface WantedTraffic {
  /** The account of the events. */
  readonly accountId: string
  readonly http: readonly HttpField[]
  readonly tcp: readonly TcpField[]
}

/** Events as sent, each a line of JSON. Plain data, so that it can be sent between processes. */
export interface TrafficPage {
  readonly bytes: Buffer
  /** The end of each line; the byte there is a line feed. */
  readonly ends: readonly number[]
  readonly types: readonly TrafficType[]
  /** The endpoint of each event: the budget key. */
  readonly endpoints: readonly string[]
  /** Nothing else is in their objects. */
  readonly fields: Readonly<Record<TrafficType, readonly string[]>>
}

const REQUEST = 'http_request_complete.v0'
const CONNECTION = 'tcp_connection_closed.v0'
const LINE_FEED = 10
const SIZE = 262_144
/** Maximum UTF-8 bytes per character. */
const MOST_BYTES = 3

export const endpointOfRequest = ({ context }: SeenRequest): string => context.route?.id ?? ''

/** Connections without HTTP are distinguished by port and server name. */
export const endpointOfConnection = ({ client }: SeenConnection): string =>
  `${client.localPort} ${client.serverName ?? ''}`

/** Serializes traffic events with the selected fields. */
export class JsonLineBuffer {
  readonly #fields: TrafficPage['fields']
  readonly #request: Line<SeenRequest>
  readonly #connection: Line<SeenConnection>
  #bytes = Buffer.allocUnsafeSlow(SIZE)
  #ends: number[] = []
  #types: TrafficType[] = []
  #endpoints: string[] = []
  #at = 0

  constructor({ accountId, http, tcp }: WantedTraffic) {
    this.#fields = { [REQUEST]: http, [CONNECTION]: tcp }
    this.#request = { type: REQUEST, parts: envelopeParts(REQUEST, accountId), write: httpWriter(http) }
    this.#connection = {
      type: CONNECTION,
      parts: envelopeParts(CONNECTION, accountId),
      write: tcpWriter(tcp),
    }
  }

  get count(): number {
    return this.#ends.length
  }

  get bytes(): number {
    return this.#at
  }

  request(seen: SeenRequest): void {
    // The request id is a regular id, so that the event can be found by it and vice versa.
    this.#put(this.#request, seen, `ev_${seen.context.id.slice(3)}`)
    this.#endpoints.push(endpointOfRequest(seen))
  }

  connection(seen: SeenConnection): void {
    this.#put(this.#connection, seen, newId('ev', Math.floor(wallTime(seen.ended))))
    this.#endpoints.push(endpointOfConnection(seen))
  }

  /** What was serialized since the last call. */
  take(): TrafficPage {
    const bytes = Buffer.from(this.#bytes.subarray(0, this.#at))
    const page = {
      bytes,
      ends: this.#ends,
      types: this.#types,
      endpoints: this.#endpoints,
      fields: this.#fields,
    }
    this.#ends = []
    this.#endpoints = []
    this.#types = []
    this.#at = 0
    return page
  }

  #put<Seen extends { readonly ended: number }>(line: Line<Seen>, seen: Seen, id: string): void {
    const { type, parts, write } = line
    const head = parts.beforeId + id + parts.beforeAt + rfc3339(wallTime(seen.ended)) + parts.beforeObject
    const text = write(seen, head) + parts.end
    const end = this.#at + this.#room(text.length).write(text, this.#at)
    this.#bytes[end] = LINE_FEED
    this.#ends.push(end)
    this.#types.push(type)
    this.#at = end + 1
  }

  #room(characters: number): Buffer {
    const needed = this.#at + characters * MOST_BYTES + 1
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
      this.#bytes.copy(larger, 0, 0, this.#at)
      this.#bytes = larger
    }
    return this.#bytes
  }
}

interface Line<Seen> {
  readonly type: TrafficType
  readonly parts: EnvelopeParts
  readonly write: WriteFields<Seen>
}
