import { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { ClientProof, ClientAuthConfig } from '#http/client-certificate.ts'

const MAX_CHAIN = 10
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The verified client certificate of a socket. */
export function proofOf(socket: TLSSocket, { scope, authorities }: ClientAuthConfig): ClientProof {
  const chain: X509Certificate[] = []
  let next = socket.getPeerX509Certificate()
  // The last one names itself as its issuer.
  while (
    next !== undefined &&
    chain.length < MAX_CHAIN &&
    next.fingerprint256 !== chain.at(-1)?.fingerprint256
  ) {
    chain.push(next)
    next = next.issuerCertificate
  }
  return { scope, authorities, chain }
}

/** The result for the last checked CAs: they seldom change, and each request checks. */
const judged = new WeakMap<ClientProof, { readonly authorities: string; readonly holds: boolean }>()

/**
 * Whether a certificate is still valid for the current CAs: one may have been removed since the handshake. If the chain
 * does not verifiably lead to a current CA, it is not.
 */
export function stillHolds(proof: ClientProof, { scope, authorities }: ClientAuthConfig): boolean {
  if (proof.scope !== scope) return false
  if (proof.authorities === authorities) return true
  const last = judged.get(proof)
  if (last?.authorities === authorities) return last.holds
  const present = (authorities.match(PEM) ?? []).map(pem => new X509Certificate(pem))
  const holds = proof.chain.some(certificate => present.some(authority => vouches(authority, certificate)))
  judged.set(proof, { authorities, holds })
  return holds
}

const vouches = (authority: X509Certificate, certificate: X509Certificate): boolean =>
  authority.fingerprint256 === certificate.fingerprint256 ||
  (certificate.checkIssued(authority) && certificate.verify(authority.publicKey))
