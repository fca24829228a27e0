import type { Socket } from 'node:net'
import type { Log } from '#base/log.ts'
import type { Guest } from '#http/exchange.ts'
import { encodeProxyProtocol } from '#gateway/backends/proxy-protocol.ts'
import type { Traffic } from '#telemetry/traffic.ts'
import { cut, splice, type SpliceEnd } from '#tunnel/splice.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'

/** The target of a connection. */
export interface Upstream {
  /** Opens a connection for a client and sends `first` on it. Rejects when it cannot be opened. */
  dial(visitor: Guest, first: Buffer): Promise<ByteStream>
  /** Version of the PROXY header; 0 or undefined for none. */
  readonly proxyProtocol?: number
  /** Decides about a client by the IP policies, as `dial` does; undefined without policies. */
  decide?(ip: string): 'allow' | 'block' | undefined
  /** The connection has closed, or was never opened. */
  ended?(visitor: Guest, end: SpliceEnd): void
}

export interface ForwardOptions {
  readonly log: Log
  readonly peeked?: Buffer
  /** Notified of closed connections. */
  readonly traffic?: Traffic | undefined
}

const EMPTY = Buffer.alloc(0)
const DIAL_MS = 30_000

/** Connects a client to its upstream. `peeked` was read from the socket before and is sent first. Never rejects. */
export async function forward(
  socket: Socket,
  visitor: Guest,
  upstream: Upstream,
  { log, peeked = EMPTY, traffic }: ForwardOptions,
): Promise<void> {
  const begun = performance.now()
  let decision: ReturnType<NonNullable<Upstream['decide']>>
  const ended = (end: SpliceEnd): void => {
    const { received, sent } = end
    traffic?.connection({ visitor, begun, ended: performance.now(), received, sent, decision })
    try {
      upstream.ended?.(visitor, end)
    } catch (error) {
      log.error({ error }, 'recording the end of a connection failed')
    }
  }
  // A stream that comes too late finds the socket destroyed, and is reset.
  const timer = setTimeout(() => cut(socket), DIAL_MS)
  socket.once('close', () => clearTimeout(timer))
  try {
    // The policies may have changed when the connection ends.
    decision = traffic?.wantsConnections === true ? upstream.decide?.(visitor.ip) : undefined
    const stream = await upstream.dial(visitor, Buffer.concat([preface(visitor, upstream), peeked]))
    splice(socket, stream, { alreadySent: peeked.length, ended })
  } catch (error) {
    log.debug({ error, ip: visitor.ip }, 'forwarding a connection failed')
    cut(socket)
    ended({ received: 0, sent: 0, error: error instanceof Error ? error : new Error(String(error)) })
  } finally {
    clearTimeout(timer)
  }
}

function preface({ ip, port, localIp, localPort }: Guest, { proxyProtocol }: Upstream): Buffer {
  if (proxyProtocol !== 1 && proxyProtocol !== 2) return EMPTY
  return encodeProxyProtocol(proxyProtocol, { ip, port }, { ip: localIp, port: localPort })
}
