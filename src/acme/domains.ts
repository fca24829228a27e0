import type { Secret } from '#base/secrets.ts'
import type { ServerKeyType } from '#pki/csr.ts'
import type { Write } from '#store/store.ts'

/** What is known of a certificate that was issued. Times are milliseconds since 1970. */
export interface IssuedCertificate {
  readonly id: string
  readonly notBefore: number
  readonly notAfter: number
  readonly keyType: string
}

/** A zone that is served here once it is delegated. */
export interface OwnZone {
  readonly apex: string
  readonly servers: readonly string[]
  /** The records for that, each as a line of the parent zone. */
  readonly records: readonly string[]
  /** Further steps. */
  readonly hint?: string | undefined
}

/** The names of one managed certificate. */
export interface ManagedDomain {
  /** Of the resource it belongs to. */
  readonly id: string
  /** At least one; the first represents all in texts and in the claim on the order. */
  readonly names: readonly string[]
  readonly keyType: ServerKeyType
  /** The required CNAME target, for HTTP and TLS challenges. */
  readonly cnameTarget: string | undefined
  /** The required CNAME target of _acme-challenge; set: the DNS challenge is used. */
  readonly challengeTarget: string | undefined
  /** The zone that must be ours for validation. */
  readonly zone?: OwnZone | undefined
  /** The status for names that do not point here, instead of records to set. */
  readonly advice?: string | undefined
  /** Why nothing is ordered at all, until the settings change. */
  readonly obstacle?: string | undefined
  /** The current certificate, if it was issued for these names. */
  readonly certificate: IssuedCertificate | undefined
  readonly renewsAt: number | undefined
}

/** The progress of issuance, for people. */
export interface Job {
  /** `dns`: something must be changed in DNS. `internal`: it is retried automatically. */
  readonly error: 'dns' | 'internal' | undefined
  readonly message: string
  readonly startedAt: number
  readonly retriesAt: number | undefined
}

export interface NewCertificate {
  readonly chainPem: string
  readonly keyPem: Secret
  readonly renewsAt: number
}

/** The domains, for the issuer. */
export interface Domains {
  /** Reports every domain now and each later change; undefined: no longer managed. Returns how to stop. */
  follow(listener: (id: string, domain: ManagedDomain | undefined) => void): Promise<() => void>
  /** Reads the store itself, which is more current than its followers. */
  manages(id: string): Promise<boolean>
  /** The current chain, in PEM. */
  chain(certificateId: string): Promise<string | undefined>
  /**
   * Writes the status, in one batch with other writes; false when one of those is rejected, or the domain is no longer
   * managed. Nothing is written then.
   */
  reportStatus(
    id: string,
    status: { readonly job: Job | undefined; readonly renewsAt?: number },
    also?: readonly Write[],
  ): Promise<boolean>
  /** Reports why nothing is ordered; false if another server orders (none does when `isSoleServer`), or nothing is needed. */
  reportObstacle(domain: ManagedDomain, message: string, isSoleServer: boolean): Promise<boolean>
  /** Activates a certificate, also in one batch. */
  issued(id: string, certificate: NewCertificate, also: readonly Write[]): Promise<boolean>
}
