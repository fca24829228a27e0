import type { Address } from '#gateway/directory.ts'

/**
 * What two tunnels cannot share. A TCP port answers under every host name, and one name in a TLS handshake leads either
 * to HTTPS or to plain TLS.
 */
export function addressKey(address: Address): string {
  if (address.scheme === 'tcp') return `tcp:${address.port}`
  return `${address.scheme === 'http' ? 'http' : 'tls'}:${address.host}`
}
