import type { HostPort } from '#base/hosts.ts'
import type { Settings } from '#base/settings.ts'
import { StartError } from '#base/start-error.ts'

export const addressText = ({ host, port }: HostPort): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

export const isAnyHost = (host: string): boolean => host === '0.0.0.0' || host === '::'

/** Where the other nodes reach this one. */
export function advertised(
  { peer_url: given, peer_addr: listener }: Pick<Settings, 'peer_url' | 'peer_addr'>,
  publicAddresses: readonly string[],
): HostPort {
  if (given !== undefined) return given
  const { host = '', port = 0 } = listener ?? {}
  const reachable = isAnyHost(host) ? publicAddresses[0] : host
  if (reachable !== undefined && port !== 0) return { host: reachable, port }
  throw new StartError('set ADIT_PEER_URL to the HOST:PORT at which the other nodes reach ADIT_PEER_ADDR')
}
