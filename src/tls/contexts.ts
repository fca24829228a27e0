import { constants, hash, hkdfSync } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { ClientAuthConfig } from '#http/client-certificate.ts'
import type { TlsIdentity } from '#pki/local-authority.ts'

/** TLS requirements of an edge or a tunnel that terminates here. */
export interface TlsConfig {
  /** Its own certificate. */
  readonly identity?: TlsIdentity
  /** Default 1.2; older versions are not supported, whatever is requested. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3'
  /** Client certificates are required. */
  readonly clients?: ClientAuthConfig
}

export const TICKET_KEY_BYTES = 48
/** The name of a key is its first bytes; tickets expose it. */
const KEY_NAME_BYTES = 16
/** How long a key seals new tickets; they are accepted for as long again. */
const TICKETS_FOR_MS = 12 * 3_600_000
/** About 30 KiB each; enough that thousands of domains do not evict each other. */
const MAX_CONTEXTS = 4000
/**
 * A resumed session is not verified again, and gets a new ticket each time. So that an expired CA or intermediate is
 * noticed, tickets of clients with certificates expire after this time.
 */
const VERIFIED_FOR_MS = 3_600_000

// AES-128 first: it is the fastest here, and clients without AES hardware still get ChaCha20 (secureOptions).
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

// Hybrid ML-KEM first. No finite-field groups, which cost a server far more than its client.
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
 * TLS contexts, created once per certificate and requirements, and cached while in use. A context has one ticket key,
 * so all are created again, on demand, when the next key begins. Keys are derived from a secret and the time: processes
 * that share it agree without communication.
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
   * `scope` limits where a session may be resumed; it is the same in all processes that share the secret. A client with
   * a ticket gets the context that can open it.
   */
  get(scope: string, identity: TlsIdentity, config: TlsConfig, ticketKey?: Buffer): SecureContext {
    const { minVersion = 'TLSv1.2', clients } = config
    const { certificatePem } = identity
    const asked = clients === undefined ? '' : this.#asked(clients)
    // Most have no special requirements: a constant key is found faster than one built each time.
    const isPlain = clients === undefined && minVersion === 'TLSv1.2'
    const key = isPlain ? certificatePem : `${minVersion}\n${asked}\n${certificatePem}`
    const generation = this.#generationOf(clients === undefined ? ticketKey : undefined)
    const known = generation.get(key)
    if (known !== undefined) return known
    const ticketKeys = clients === undefined ? generation.ticketKeys : this.#keysFor(clients)
    const context = make(`${asked}\n${scope}`, identity, config, ticketKeys)
    generation.add(key, { context, certificatePem })
    return context
  }

  /** Drops a certificate that is no longer served, with its private key. */
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

  /** A session of one endpoint must not be resumed at another, whether that one requires certificates or not. */
  #keysFor(clients: ClientAuthConfig): Buffer {
    return derived(this.#secret, this.#asked(clients), 'mutual TLS')
  }

  #asked({ scope, authorities }: ClientAuthConfig): string {
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
    // Reinserted at the end: the first is the least recently used.
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
  identity: TlsIdentity,
  { minVersion = 'TLSv1.2', clients }: TlsConfig,
  ticketKeys: Buffer,
): SecureContext {
  return createSecureContext({
    cert: identity.certificatePem,
    key: identity.privateKeyPem.reveal(),
    // An empty list, or every public CA could sign client certificates.
    ca: clients?.authorities ?? [],
    // Each of them is trusted by itself, even if its issuer is not listed.
    allowPartialTrustChain: clients !== undefined,
    minVersion,
    ciphers: CIPHERS,
    ecdhCurve: GROUPS,
    secureOptions: OPTIONS,
    ticketKeys,
    sessionIdContext: hash('sha256', scope, 'hex').slice(0, 32),
  })
}
