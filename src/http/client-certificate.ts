import type { X509Certificate } from 'node:crypto'

/** Requirements for client certificates. */
export interface ClientAuthConfig {
  /** PEM CAs for client certificates. */
  readonly authorities: string
  /** Who requires it: an edge, an endpoint configuration or a tunnel. Sessions are resumed only in the same scope. */
  readonly scope: string
}

/** The result of a handshake with a client certificate. */
export interface ClientProof extends ClientAuthConfig {
  /** Its certificate, and the known intermediate CAs. */
  readonly chain: readonly X509Certificate[]
}

/** A verified client certificate. */
export interface ClientCertificate extends ClientProof {
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly emails: readonly string[]
  /** Lower-case hex of whole bytes. */
  readonly serialNumber: string
}
