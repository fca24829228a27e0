import type { Duplex } from 'node:stream'
import { CountedStream } from '#agent/counted.ts'
import type { EndpointSpec } from '#agent/endpoint.ts'
import type { ConnectionInfo } from '#agent/events.ts'
import { notifyListener } from '#agent/notify-listener.ts'
import { endTls } from '#agent/terminate.ts'
import type { ProxiedConnection } from '#agent/proxied-connection.ts'
import { parseHostPort } from '#base/hosts.ts'
import { asDuplex } from '#tunnel/duplex.ts'
import type { Tap } from '#tunnel/splice.ts'

type Taker = (stream: Duplex, info: ConnectionInfo) => void

/** Passes a connection to the embedding program, or to another part of the agent. */
export async function handToListener(
  proxied: ProxiedConnection,
  take: Taker | undefined,
  tap?: Tap,
): Promise<void> {
  const { binding, header, stream, done } = proxied
  const { endpoint, tunnel } = binding
  const counted = new CountedStream(stream, tap)
  const outer = asDuplex(counted)
  // A client that disconnects must not crash the program, even without a listener.
  outer.on('error', () => undefined)
  outer.once('close', () => done(counted.received, counted.sent))
  const duplex = await open(outer, endpoint).catch(() => undefined)
  if (duplex === undefined) return
  // Servers of all kinds ask a socket for its peer.
  const client = parseHostPort(header.ClientAddr)
  Object.defineProperties(duplex, {
    remoteAddress: { value: client?.host.replace(/^\[(.*)\]$/, '$1') },
    remotePort: { value: client?.port },
  })
  const info: ConnectionInfo = {
    tunnel,
    clientAddr: header.ClientAddr,
    proto: header.Proto,
    passthroughTls: header.PassthroughTLS && endpoint.terminator === undefined,
  }
  notifyListener(given => take?.(duplex, given), info)
}

/** The connection as the program needs it; one whose handshake fails is closed. */
async function open(outer: Duplex, { terminator }: EndpointSpec): Promise<Duplex> {
  if (terminator === undefined) return outer
  try {
    return await endTls(outer, terminator)
  } catch (error) {
    outer.destroy()
    throw error
  }
}
