import { constants, hash, hkdfSync } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { ClientTerms } from '#http/client-certificate.ts'
import type { Identity } from '#pki/local-authority.ts'

/** What an edge or a tunnel asks of the TLS that ends here. */
export interface TlsTerms {
  /** A certificate it brought itself. */
  readonly identity?: Identity
  /** 1.2 unless told; older versions are not spoken, whatever is asked for. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3'
  /** Visitors need a certificate. */
  readonly clients?: ClientTerms
}

export const TICKET_KEY_BYTES = 48
/** The name of a key is its first bytes; tickets show it to all who look. */
const KEY_NAME_BYTES = 16
/** So long tickets are given out that are sealed with one key; as long again they are taken back. */
const TICKETS_FOR_MS = 12 * 3_600_000
/** About 30 KiB each; so many, that thousands of domains do not push out one another. */
const MAX_CONTEXTS = 4000
/**
 * A session that goes on is not verified again, and each time it gets a new ticket. So that an authority or a
 * certificate between that runs out is noticed, tickets of visitors with certificates are void after this time.
 */
const VERIFIED_FOR_MS = 3_600_000

// AES-128 first: it is the fastest here, and clients without AES in hardware still get ChaCha20 (secureOptions).
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  ...['ECDSA', 'RSA'].flatMap(key => [
    `ECDHE-${key}-AES128-GCM-SHA256`,
    `ECDHE-${key}-AES256-GCM-SHA384`,
    `ECDHE-${key}-CHACHA20-POLY1305`,
  ]),
].join(':')

// Hybrid with ML-KEM first. Without finite fields, whose exchange costs a server far more than its visitor.
const GROUPS = 'X25519MLKEM768:X25519:prime256v1:secp384r1'

const OPTIONS =
  constants.SSL_OP_CIPHER_SERVER_PREFERENCE |
  constants.SSL_OP_PRIORITIZE_CHACHA |
  constants.SSL_OP_NO_RENEGOTIATION |
  constants.SSL_OP_NO_COMPRESSION

interface Made {
  readonly context: SecureContext
  readonly certificatePem: string
}

/**
 * The contexts of TLS, made once for each certificate and terms, and kept while they are in use. A context has one key
 * for tickets, so all are made anew, one by one as they are asked for, when the next key begins. The keys follow from a
 * secret and the time alone: processes that share it agree without talking.
 */
export class Contexts {
  readonly #secret: Buffer
  readonly #now: () => number
  #current: Generation
  #previous: Generation

  constructor(secret: Buffer, now: () => number = Date.now) {
    this.#secret = secret
    this.#now = now
    this.#current = this.#generation(this.#slot)
    this.#previous = this.#generation(this.#slot - 1)
  }

  /**
   * `scope` says where a session may go on; it is the same in all processes that share the secret. A visitor with a
   * ticket gets the context that can open it.
   */
  get(scope: string, identity: Identity, terms: TlsTerms, ticketKey?: Buffer): SecureContext {
    const { minVersion = 'TLSv1.2', clients } = terms
    const { certificatePem } = identity
    const asked = clients === undefined ? '' : this.#asked(clients)
    // Most ask for nothing special: the text itself is found faster than one that is put together each time.
    const isPlain = clients === undefined && minVersion === 'TLSv1.2'
    const key = isPlain ? certificatePem : `${minVersion}\n${asked}\n${certificatePem}`
    const generation = this.#generationOf(clients === undefined ? ticketKey : undefined)
    const known = generation.get(key)
    if (known !== undefined) return known
    const ticketKeys = clients === undefined ? generation.ticketKeys : this.#keysFor(clients)
    const context = make(`${asked}\n${scope}`, identity, terms, ticketKeys)
    generation.add(key, { context, certificatePem })
    return context
  }

  /** Lets go of a certificate that is no longer served, and so of its private key. */
  forget(certificatePem: string): void {
    this.#current.forget(certificatePem)
    this.#previous.forget(certificatePem)
  }

  clear(): void {
    this.#current.clear()
    this.#previous.clear()
  }

  get #slot(): number {
    return Math.floor(this.#now() / TICKETS_FOR_MS)
  }

  #generation(slot: number): Generation {
    return new Generation(slot, derived(this.#secret, `${slot}`, 'session tickets'))
  }

  #generationOf(ticketKey: Buffer | undefined): Generation {
    const slot = this.#slot
    if (slot !== this.#current.slot) {
      this.#previous = this.#current.slot === slot - 1 ? this.#current : this.#generation(slot - 1)
      this.#current = this.#generation(slot)
    }
    return ticketKey !== undefined && this.#previous.opens(ticketKey) ? this.#previous : this.#current
  }

  /** A session begun at one door must not open another, whether that one asks for certificates or not. */
  #keysFor(clients: ClientTerms): Buffer {
    return derived(this.#secret, this.#asked(clients), 'mutual TLS')
  }

  #asked({ scope, authorities }: ClientTerms): string {
    return `${Math.floor(this.#now() / VERIFIED_FOR_MS)}\n${scope}\n${authorities}`
  }
}

const derived = (secret: Buffer, salt: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, hash('sha256', salt, 'buffer'), purpose, TICKET_KEY_BYTES))

/** The contexts whose tickets are sealed with one key. */
class Generation {
  readonly slot: number
  readonly ticketKeys: Buffer
  readonly #contexts = new Map<string, Made>()

  constructor(slot: number, ticketKeys: Buffer) {
    this.slot = slot
    this.ticketKeys = ticketKeys
  }

  opens(ticketKey: Buffer): boolean {
    return this.ticketKeys.subarray(0, KEY_NAME_BYTES).equals(ticketKey)
  }

  get(key: string): SecureContext | undefined {
    const made = this.#contexts.get(key)
    if (made === undefined) return undefined
    // Put at the end again: the first is the one that was not used for the longest time.
    this.#contexts.delete(key)
    this.#contexts.set(key, made)
    return made.context
  }

  add(key: string, made: Made): void {
    this.#contexts.set(key, made)
    const [oldest] = this.#contexts.size > MAX_CONTEXTS ? this.#contexts.keys() : []
    if (oldest !== undefined) this.#contexts.delete(oldest)
  }

  forget(certificatePem: string): void {
    for (const [key, made] of this.#contexts)
      if (made.certificatePem === certificatePem) this.#contexts.delete(key)
  }

  clear(): void {
    this.#contexts.clear()
  }
}

function make(
  scope: string,
  identity: Identity,
  { minVersion = 'TLSv1.2', clients }: TlsTerms,
  ticketKeys: Buffer,
): SecureContext {
  return createSecureContext({
    cert: identity.certificatePem,
    key: identity.privateKeyPem.reveal(),
    // An empty list, or every public authority could vouch for visitors.
    ca: clients?.authorities ?? [],
    // Each of them is trusted by itself, also one whose own issuer is not listed.
    allowPartialTrustChain: clients !== undefined,
    minVersion,
    ciphers: CIPHERS,
    ecdhCurve: GROUPS,
    secureOptions: OPTIONS,
    ticketKeys,
    sessionIdContext: hash('sha256', scope, 'hex').slice(0, 32),
  })
}
