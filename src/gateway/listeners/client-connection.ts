import type { Socket } from 'node:net'
import { plainAddress } from '#base/addresses.ts'
import type { ClientConnection } from '#http/exchange.ts'

/** Undefined when it has already disconnected. `since` is when it connected, if that is earlier. */
export function clientConnectionOf(
  socket: Socket,
  serverName: string | undefined,
  since = performance.now(),
): ClientConnection | undefined {
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  if (remoteAddress === undefined || remotePort === undefined) return undefined
  return {
    ip: plainAddress(remoteAddress),
    port: remotePort,
    localIp: plainAddress(localAddress ?? ''),
    localPort: localPort ?? 0,
    serverName,
    since,
  }
}
