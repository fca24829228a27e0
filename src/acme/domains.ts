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

/** A zone that is answered here once it is delegated. */
export interface OwnZone {
  readonly apex: string
  readonly servers: readonly string[]
  /** What to set so that it is, each as a line of the zone above it. */
  readonly records: readonly string[]
  /** What else it takes. */
  readonly hint?: string | undefined
}

/** Names that one certificate is to be kept for. */
export interface ManagedDomain {
  /** Of the resource it belongs to. */
  readonly id: string
  /** At least one; the first stands for all in texts and in the claim on the order. */
  readonly names: readonly string[]
  readonly keyType: ServerKeyType
  /** Where the CNAME of the names must lead, if they are proven by visits. */
  readonly cnameTarget: string | undefined
  /** Where the CNAME of _acme-challenge must lead; set: the names are proven by DNS. */
  readonly challengeTarget: string | undefined
  /** The zone that must be ours for the names to be proven. */
  readonly zone?: OwnZone | undefined
  /** What to tell those whose name does not lead here, instead of records to set. */
  readonly advice?: string | undefined
  /** Why nothing is ordered at all, until the server is started with other settings. */
  readonly obstacle?: string | undefined
  /** The one that serves now, if it was issued for these names. */
  readonly certificate: IssuedCertificate | undefined
  readonly renewsAt: number | undefined
}

/** How far the issuing has come, for people. */
export interface Job {
  /** `dns`: something must be changed in DNS. `internal`: it is tried again by itself. */
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

/** What the issuer needs to know of domains, and tells of them. */
export interface Domains {
  /** Tells every domain now and each that changes later; undefined: it is managed no more. Returns how to stop. */
  follow(listener: (id: string, domain: ManagedDomain | undefined) => void): Promise<() => void>
  /** Asks the store itself, which knows more than those who follow it. */
  manages(id: string): Promise<boolean>
  /** The chain that serves now, in PEM. */
  chain(certificateId: string): Promise<string | undefined>
  /**
   * Writes how it goes, in one batch with other writes; false when one of those is refused, or the domain is managed
   * no more. Nothing is written then.
   */
  tell(
    id: string,
    status: { readonly job: Job | undefined; readonly renewsAt?: number },
    also?: readonly Write[],
  ): Promise<boolean>
  /** Says why nothing is ordered; false where another server orders (none does when `alone`), or nothing is wanted. */
  excuse(domain: ManagedDomain, message: string, alone: boolean): Promise<boolean>
  /** Puts a certificate to use, likewise in one batch. */
  issued(id: string, certificate: NewCertificate, also: readonly Write[]): Promise<boolean>
}
