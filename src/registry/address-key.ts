import type { EndpointAddress } from '#registry/directory.ts'

/**
 * The key that two tunnels cannot share. A TCP port serves every host name, and one SNI name is either HTTPS or plain
 * TLS.
 */
export function addressKey(address: EndpointAddress): string {
  if (address.scheme === 'tcp') return `tcp:${address.port}`
  return `${address.scheme === 'http' ? 'http' : 'tls'}:${address.host}`
}

/** The key that one user owns: a TCP port, or a host name in all of its schemes. */
export const placeKey = (address: EndpointAddress): string =>
  address.scheme === 'tcp' ? `tcp:${address.port}` : `name:${address.host}`
