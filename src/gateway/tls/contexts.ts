import { constants, hash, hkdfSync } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Identity } from '#pki/local-authority.ts'

/** What visitors must prove in the handshake. */
export interface ClientTerms {
  /** In PEM, those of which a visitor needs a certificate. */
  readonly authorities: string
  /** Who asks: an edge, an endpoint configuration or a tunnel. A session goes on only where it was begun. */
  readonly scope: string
}

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
const MAX_CONTEXTS = 1000
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

const OPTIONS =
  constants.SSL_OP_CIPHER_SERVER_PREFERENCE |
  constants.SSL_OP_PRIORITIZE_CHACHA |
  constants.SSL_OP_NO_RENEGOTIATION |
  constants.SSL_OP_NO_COMPRESSION

/** The contexts of TLS, made once for each certificate and terms, and kept while they are in use. */
export class Contexts {
  readonly #ticketKeys: Buffer
  readonly #now: () => number
  readonly #contexts = new Map<string, SecureContext>()

  constructor(ticketKeys: Buffer, now: () => number = Date.now) {
    this.#ticketKeys = ticketKeys
    this.#now = now
  }

  /** `scope` says where a session may go on; it is the same in all processes that share the ticket keys. */
  get(scope: string, identity: Identity, terms: TlsTerms): SecureContext {
    const { minVersion = 'TLSv1.2', clients } = terms
    const asked = clients === undefined ? '' : this.#asked(clients)
    const key = `${minVersion}\n${asked}\n${identity.certificatePem}`
    const context = this.#contexts.get(key) ?? this.#make(`${asked}\n${scope}`, identity, terms)
    // Put at the end again: the first is the one that was not used for the longest time.
    this.#contexts.delete(key)
    this.#contexts.set(key, context)
    if (this.#contexts.size > MAX_CONTEXTS) this.#dropOldest()
    return context
  }

  /** Lets go of all of them, and so of private keys that are no longer served. */
  clear(): void {
    this.#contexts.clear()
  }

  #make(scope: string, identity: Identity, { minVersion = 'TLSv1.2', clients }: TlsTerms): SecureContext {
    return createSecureContext({
      cert: identity.certificatePem,
      key: identity.privateKeyPem.reveal(),
      // An empty list, or every public authority could vouch for visitors.
      ca: clients?.authorities ?? [],
      // Each of them is trusted by itself, also one whose own issuer is not listed.
      allowPartialTrustChain: clients !== undefined,
      minVersion,
      ciphers: CIPHERS,
      secureOptions: OPTIONS,
      ticketKeys: clients === undefined ? this.#ticketKeys : this.#keysFor(clients),
      sessionIdContext: hash('sha256', scope, 'hex').slice(0, 32),
    })
  }

  /** A session begun at one door must not open another, whether that one asks for certificates or not. */
  #keysFor(clients: ClientTerms): Buffer {
    const salt = hash('sha256', this.#asked(clients), 'buffer')
    return Buffer.from(hkdfSync('sha256', this.#ticketKeys, salt, 'mutual TLS', TICKET_KEY_BYTES))
  }

  #asked({ scope, authorities }: ClientTerms): string {
    return `${Math.floor(this.#now() / VERIFIED_FOR_MS)}\n${scope}\n${authorities}`
  }

  #dropOldest(): void {
    const oldest = this.#contexts.keys().next()
    if (!oldest.done) this.#contexts.delete(oldest.value)
  }
}
