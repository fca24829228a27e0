import type { X509Certificate } from 'node:crypto'

/** What visitors must prove in the handshake. */
export interface ClientTerms {
  /** In PEM, those of which a visitor needs a certificate. */
  readonly authorities: string
  /** Who asks: an edge, an endpoint configuration or a tunnel. A session goes on only where it was begun. */
  readonly scope: string
}

/** What a client has proved in a handshake that asked for a certificate. */
export interface ClientProof extends ClientTerms {
  /** Its certificate, and the authorities between that are known. */
  readonly chain: readonly X509Certificate[]
}

/** The certificate that a visitor has proved to be its own. */
export interface ClientCertificate extends ClientProof {
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly emails: readonly string[]
  /** Lower-case hex of whole bytes. */
  readonly serialNumber: string
}
