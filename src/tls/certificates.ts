import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { Log } from '#base/log.ts'
import { hostName } from '#tls/client-hello.ts'
import { Contexts, TICKET_KEY_BYTES, type TlsConfig } from '#tls/contexts.ts'
import { LeafCertificates } from '#tls/leaf-certificates.ts'
import type { TlsIdentity, Leaf, LocalAuthority } from '#pki/local-authority.ts'

export interface CertificatesOptions {
  readonly authority: Pick<LocalAuthority, 'issue'>
  /** The names of the default certificate; see `defaultNames`. */
  readonly names: readonly string[]
  /** The uploaded or issued certificate that serves a name. */
  readonly uploaded: (name: string) => TlsIdentity | undefined
  /** Whether a name without one is served here: then it gets a certificate of the local CA. */
  readonly serves: (name: string) => boolean
  readonly log: Log
  /**
   * 48 bytes from which ticket keys are derived, the same for all processes that share an address; otherwise sessions
   * are not resumed between them.
   */
  readonly ticketKeys?: Buffer
  readonly now?: () => number
}

type Answer = (error: Error | null, context?: SecureContext) => void

const WILDCARD_HOSTS = new Set(['0.0.0.0', '::', ''])

/** Names and addresses of the default certificate; `hosts` are the listener hosts. */
export function defaultNames(domain: string, hosts: readonly string[]): string[] {
  const fixed = [domain, `*.${domain}`, 'localhost', '127.0.0.1', '::1']
  const extra = hosts.filter(host => !WILDCARD_HOSTS.has(host) && (isIP(host) !== 0 || hostName(host)))
  return [...new Set([...fixed, ...extra])]
}

/** Selects the certificate for a server name. */
export class Certificates {
  readonly #options: CertificatesOptions
  readonly #contexts: Contexts
  readonly #leaves: LeafCertificates

  private constructor(options: CertificatesOptions, standard: Leaf) {
    const { authority, names, log, now = Date.now, ticketKeys } = options
    this.#options = options
    this.#contexts = new Contexts(ticketKeys ?? randomBytes(TICKET_KEY_BYTES), now)
    this.#leaves = new LeafCertificates({ authority, log, now }, names, standard)
  }

  static async create(options: CertificatesOptions): Promise<Certificates> {
    return new Certificates(options, await options.authority.issue(options.names))
  }

  /** The context for a server name, whatever it contains. Rejects only for requirements that cannot be met. */
  async contextFor(
    serverName: string | undefined,
    config: TlsConfig = {},
    ticketKey?: Buffer,
  ): Promise<SecureContext> {
    const name = serverName === undefined ? undefined : hostName(serverName)
    const own = config.identity ?? (name === undefined ? undefined : this.#ask('uploaded', name))
    if (own !== undefined) {
      try {
        return this.#contexts.get(own.certificatePem, own, config, ticketKey)
      } catch (error) {
        this.#options.log.error({ error, name }, 'certificate cannot be served; using the local one')
      }
    }
    return this.#local(name, config, ticketKey)
  }

  /** Whether there is a certificate for a name, or one can be created; otherwise one for other names is served. */
  has(serverName: string): boolean {
    const name = hostName(serverName)
    if (name === undefined) return false
    return (
      this.#leaves.covers(name) ||
      this.#ask('uploaded', name) !== undefined ||
      this.#ask('serves', name) === true
    )
  }

  /** For `tls.createServer`, where a thrown error could crash the process. */
  readonly sniCallback = (name: string, answer: Answer): void => void this.#answer(name, answer)

  /** Changes the names of the default certificate. */
  async rename(names: readonly string[]): Promise<void> {
    await this.#leaves.rename(names)
    this.#contexts.clear()
  }

  /** Drops the private key of a certificate that may no longer be used; if it is, it is loaded again. */
  forget(certificatePem: string): void {
    this.#contexts.forget(certificatePem)
  }

  /** Expiry of the default certificate. */
  get defaultEnd(): number {
    return this.#leaves.standard.notAfter
  }

  async #local(
    name: string | undefined,
    config: TlsConfig,
    ticketKey: Buffer | undefined,
  ): Promise<SecureContext> {
    if (name !== undefined && !this.#leaves.covers(name) && this.#ask('serves', name) === true) {
      const leaf = await this.#leaves.for(name)
      if (leaf !== undefined) return this.#contexts.get(`local ${name}`, leaf, config, ticketKey)
    }
    return this.#contexts.get('local', this.#leaves.standard, config, ticketKey)
  }

  /** Unknown counts as no. */
  #ask<Question extends 'uploaded' | 'serves'>(
    question: Question,
    name: string,
  ): ReturnType<CertificatesOptions[Question]> | undefined {
    try {
      return this.#options[question](name) as ReturnType<CertificatesOptions[Question]>
    } catch (error) {
      this.#options.log.error({ error, name }, 'looking up the certificate of a name failed')
      return undefined
    }
  }

  async #answer(name: string, answer: Answer): Promise<void> {
    try {
      answer(null, await this.contextFor(name))
    } catch (error) {
      answer(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
