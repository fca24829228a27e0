import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { Log } from '#base/log.ts'
import { hostName } from '#tls/client-hello.ts'
import { Contexts, TICKET_KEY_BYTES, type TlsTerms } from '#tls/contexts.ts'
import { LocalLeaves } from '#tls/local-leaves.ts'
import type { Identity, Leaf, LocalAuthority } from '#pki/local-authority.ts'

export interface CertificatesOptions {
  readonly authority: Pick<LocalAuthority, 'issue'>
  /** What the default certificate is valid for; see `defaultNames`. */
  readonly names: readonly string[]
  /** The uploaded or issued certificate that serves a name. */
  readonly uploaded: (name: string) => Identity | undefined
  /** Whether a name without one is served here: then it gets a certificate of the local authority. */
  readonly serves: (name: string) => boolean
  readonly log: Log
  /** 48 bytes that they are made from, the same for all processes that share an address; otherwise sessions are not resumed between them. */
  readonly ticketKeys?: Buffer
  readonly now?: () => number
}

type Answer = (error: Error | null, context?: SecureContext) => void

const WILDCARD_HOSTS = new Set(['0.0.0.0', '::', ''])

/** Names and addresses of the default certificate; `hosts` are those that listeners are bound to. */
export function defaultNames(domain: string, hosts: readonly string[]): string[] {
  const fixed = [domain, `*.${domain}`, 'localhost', '127.0.0.1', '::1']
  const extra = hosts.filter(host => !WILDCARD_HOSTS.has(host) && (isIP(host) !== 0 || hostName(host)))
  return [...new Set([...fixed, ...extra])]
}

/** Chooses the certificate for a server name. */
export class Certificates {
  readonly #options: CertificatesOptions
  readonly #contexts: Contexts
  readonly #leaves: LocalLeaves

  private constructor(options: CertificatesOptions, standard: Leaf) {
    const { authority, names, log, now = Date.now, ticketKeys } = options
    this.#options = options
    this.#contexts = new Contexts(ticketKeys ?? randomBytes(TICKET_KEY_BYTES), now)
    this.#leaves = new LocalLeaves({ authority, log, now }, names, standard)
  }

  static async create(options: CertificatesOptions): Promise<Certificates> {
    return new Certificates(options, await options.authority.issue(options.names))
  }

  /** The context for a name out of a handshake, whatever is in it. Rejects only for terms that cannot be kept. */
  async contextFor(
    serverName: string | undefined,
    terms: TlsTerms = {},
    ticketKey?: Buffer,
  ): Promise<SecureContext> {
    const name = serverName === undefined ? undefined : hostName(serverName)
    const own = terms.identity ?? (name === undefined ? undefined : this.#ask('uploaded', name))
    if (own !== undefined) {
      try {
        return this.#contexts.get(own.certificatePem, own, terms, ticketKey)
      } catch (error) {
        this.#options.log.error({ error, name }, 'a certificate cannot be served; the local one stands in')
      }
    }
    return this.#local(name, terms, ticketKey)
  }

  /** Whether there is a certificate for a name, or one can be made; all else gets one that is valid for other names. */
  has(serverName: string): boolean {
    const name = hostName(serverName)
    if (name === undefined) return false
    return (
      this.#leaves.covers(name) ||
      this.#ask('uploaded', name) !== undefined ||
      this.#ask('serves', name) === true
    )
  }

  /** For `tls.createServer`, where an error that is thrown could end the process. */
  readonly sniCallback = (name: string, answer: Answer): void => void this.#answer(name, answer)

  /** The names of the default certificate are others from now on. */
  async rename(names: readonly string[]): Promise<void> {
    await this.#leaves.rename(names)
    this.#contexts.clear()
  }

  /** Forgets the private key of a certificate that may no longer be in use; one that is gets read again. */
  forget(certificatePem: string): void {
    this.#contexts.forget(certificatePem)
  }

  /** When the default certificate ends. */
  get defaultEnd(): number {
    return this.#leaves.standard.notAfter
  }

  async #local(
    name: string | undefined,
    terms: TlsTerms,
    ticketKey: Buffer | undefined,
  ): Promise<SecureContext> {
    if (name !== undefined && !this.#leaves.covers(name) && this.#ask('serves', name) === true) {
      const leaf = await this.#leaves.for(name)
      if (leaf !== undefined) return this.#contexts.get(`local ${name}`, leaf, terms, ticketKey)
    }
    return this.#contexts.get('local', this.#leaves.standard, terms, ticketKey)
  }

  /** What cannot be said counts as no. */
  #ask<Question extends 'uploaded' | 'serves'>(
    question: Question,
    name: string,
  ): ReturnType<CertificatesOptions[Question]> | undefined {
    try {
      return this.#options[question](name) as ReturnType<CertificatesOptions[Question]>
    } catch (error) {
      this.#options.log.error({ error, name }, 'the certificate of a name cannot be found out')
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
