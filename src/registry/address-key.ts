import type { Address } from '#registry/directory.ts'

/**
 * What two tunnels cannot share. A TCP port answers under every host name, and one name in a TLS handshake leads either
 * to HTTPS or to plain TLS.
 */
export function addressKey(address: Address): string {
  if (address.scheme === 'tcp') return `tcp:${address.port}`
  return `${address.scheme === 'http' ? 'http' : 'tls'}:${address.host}`
}

/** What belongs to one user: a TCP port, or a host name in all of its schemes. */
export const placeKey = (address: Address): string =>
  address.scheme === 'tcp' ? `tcp:${address.port}` : `name:${address.host}`
