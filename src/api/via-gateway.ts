import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { plainAddress } from '#base/addresses.ts'
import type { TrustedProxies } from '#base/trusted-proxies.ts'

/** Connections of the gateway of this server, whose forwarding headers can be trusted. */
const links = new WeakSet<Socket>()

export function trustLink(socket: Socket): void {
  links.add(socket)
}

/** Whether the client has sent the request to the HTTPS listener of the gateway. */
export const isViaGateway = ({ socket }: IncomingMessage): boolean => links.has(socket)

/** The address of the client, as the gateway or a trusted proxy in front of the API states it. */
export function clientAddress(request: IncomingMessage, proxies: TrustedProxies | undefined): string {
  const { socket, headers } = request
  // The gateway removes what clients state.
  if (isViaGateway(request)) return plainAddress(forwardedFor(request))
  const peer = plainAddress(socket.remoteAddress ?? '')
  if (!proxies?.has(peer)) return peer
  return proxies.clientOf(peer, { 'x-forwarded-for': forwardedFor(request), forwarded: headers.forwarded })
}

const forwardedFor = ({ headers }: IncomingMessage): string =>
  [headers['x-forwarded-for'] ?? []].flat().join(',')

/** The base URL under which the client reaches the API, without a trailing slash. */
export function baseUrl(request: IncomingMessage, publicUrl: string | undefined): string {
  const { host = 'localhost' } = request.headers
  return isViaGateway(request) ? `https://${host}` : (publicUrl ?? `http://${host}`)
}
