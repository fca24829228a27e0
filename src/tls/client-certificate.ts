import type { TLSSocket } from 'node:tls'
import type { ClientCertificate, ClientAuthConfig } from '#http/client-certificate.ts'
import { proofOf } from '#tls/client-proof.ts'
import { clientFacts } from '#pki/client-facts.ts'

/** The client's identity after a handshake with a client certificate; throws when it cannot be read. */
export function clientCertificate(socket: TLSSocket, config: ClientAuthConfig): ClientCertificate {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) throw new Error('The client has no certificate.')
  return { ...clientFacts(certificate), ...proofOf(socket, config) }
}
