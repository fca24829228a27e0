import { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { ClientProof, ClientTerms } from '#http/client-certificate.ts'

const MAX_CHAIN = 10
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** What the client on a socket has proved to those who asked for it. */
export function proofOf(socket: TLSSocket, { scope, authorities }: ClientTerms): ClientProof {
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

/** The answer for the authorities that were last asked about: they change seldom, and requests ask each time. */
const judged = new WeakMap<ClientProof, { readonly authorities: string; readonly holds: boolean }>()

/**
 * Whether a proof still holds for those who ask for certificates now: an authority may have been removed since the
 * handshake. Where it cannot be seen that the chain leads to one of the present authorities, it does not.
 */
export function stillHolds(proof: ClientProof, { scope, authorities }: ClientTerms): boolean {
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
