import type { Socket } from 'node:net'
import type { Log } from '#base/log.ts'
import type { ClientConnection } from '#http/exchange.ts'
import { encodeProxyProtocol } from '#gateway/backends/proxy-protocol.ts'
import type { UsageSeries } from '#http/request-context.ts'
import type { TrafficEvents } from '#telemetry/traffic-events.ts'
import type { UsageCounter } from '#telemetry/usage/usage-counter.ts'
import { cut, splice, type SpliceEnd } from '#tunnel/splice.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'

/** The target of a connection. */
export interface L4Upstream {
  /** Opens a connection for a client and sends `first` on it. Rejects when it cannot be opened. */
  dial(client: ClientConnection, first: Buffer): Promise<ByteStream>
  /** Version of the PROXY header; 0 or undefined for none. */
  readonly proxyProtocol?: number
  /** How its connections are counted. */
  readonly usage?: UsageSeries | undefined
  /** Decides about a client by the IP policies, as `dial` does; undefined without policies. */
  decide?(ip: string): 'allow' | 'block' | undefined
  /** The connection has closed, or was never opened. */
  ended?(client: ClientConnection, end: SpliceEnd): void
}

interface L4ForwardOptions {
  readonly log: Log
  readonly peeked?: Buffer
  /** Notified of closed connections. */
  readonly traffic?: TrafficEvents | undefined
  /** Counts closed connections. */
  readonly usage?: UsageCounter | undefined
}

const EMPTY = Buffer.alloc(0)
const DIAL_MS = 30_000

/** Connects a client to its upstream. `peeked` was read from the socket before and is sent first. Never rejects. */
export async function forward(
  socket: Socket,
  client: ClientConnection,
  upstream: L4Upstream,
  { log, peeked = EMPTY, traffic, usage }: L4ForwardOptions,
): Promise<void> {
  const begun = performance.now()
  let decision: ReturnType<NonNullable<L4Upstream['decide']>>
  let endpoint: UsageSeries | undefined
  let credential: UsageSeries | undefined
  const ended = (end: SpliceEnd, failed = false): void => {
    const { received, sent } = end
    usage?.connection([endpoint, credential], { failed, bytesIn: received, bytesOut: sent })
    traffic?.connection({ client, begun, ended: performance.now(), received, sent, decision })
    try {
      upstream.ended?.(client, end)
    } catch (error) {
      log.error({ error }, 'recording the end of a connection failed')
    }
  }
  // A stream that comes too late finds the socket destroyed, and is reset.
  const timer = setTimeout(() => cut(socket), DIAL_MS)
  socket.once('close', () => clearTimeout(timer))
  try {
    // The endpoint and its policies may have changed when the connection ends.
    endpoint = upstream.usage
    decision = traffic?.wantsConnections === true ? upstream.decide?.(client.ip) : undefined
    const onTunnel: ClientConnection['onTunnel'] = tunnel => {
      credential = usage?.credentialOf(tunnel)
    }
    const stream = await upstream.dial(
      { ...client, onTunnel },
      Buffer.concat([preface(client, upstream), peeked]),
    )
    splice(socket, stream, { alreadySent: peeked.length, ended })
  } catch (error) {
    log.debug({ error, ip: client.ip }, 'forwarding a connection failed')
    cut(socket)
    // A client that is not allowed is not a failure of the endpoint.
    const failed = upstream.decide?.(client.ip) !== 'block'
    ended({ received: 0, sent: 0, error: error instanceof Error ? error : new Error(String(error)) }, failed)
  } finally {
    clearTimeout(timer)
  }
}

function preface({ ip, port, localIp, localPort }: ClientConnection, { proxyProtocol }: L4Upstream): Buffer {
  if (proxyProtocol !== 1 && proxyProtocol !== 2) return EMPTY
  return encodeProxyProtocol(proxyProtocol, { ip, port }, { ip: localIp, port: localPort })
}
