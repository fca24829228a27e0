import { constants, hash, hkdfSync } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Identity } from '#pki/local-authority.ts'

/** What an edge or a tunnel asks of the TLS that ends here. */
export interface TlsTerms {
  /** A certificate it brought itself. */
  readonly identity?: Identity
  /** 1.2 unless told; older versions are not spoken, whatever is asked for. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3'
  /** Authorities, in PEM, of which visitors need a certificate. */
  readonly clientAuthorities?: string
}

export const TICKET_KEY_BYTES = 48
const MAX_CONTEXTS = 1000

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
  readonly #contexts = new Map<string, SecureContext>()

  constructor(ticketKeys: Buffer) {
    this.#ticketKeys = ticketKeys
  }

  /** `scope` says where a session may go on; it is the same in all processes that share the ticket keys. */
  get(scope: string, identity: Identity, terms: TlsTerms): SecureContext {
    const { minVersion = 'TLSv1.2', clientAuthorities = '' } = terms
    const key = `${minVersion}\n${clientAuthorities}\n${identity.certificatePem}`
    const context = this.#contexts.get(key) ?? this.#make(scope, identity, terms)
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

  #make(scope: string, identity: Identity, terms: TlsTerms): SecureContext {
    const { minVersion = 'TLSv1.2', clientAuthorities } = terms
    return createSecureContext({
      cert: identity.certificatePem,
      key: identity.privateKeyPem.reveal(),
      // An empty list, or every public authority could vouch for visitors.
      ca: clientAuthorities ?? [],
      minVersion,
      ciphers: CIPHERS,
      secureOptions: OPTIONS,
      ticketKeys: this.#keysFor(clientAuthorities),
      sessionIdContext: hash('sha256', `${clientAuthorities ?? ''}\n${scope}`, 'hex').slice(0, 32),
    })
  }

  /** A session begun where no client certificate is asked for must not open a door where one is. */
  #keysFor(clientAuthorities: string | undefined): Buffer {
    if (clientAuthorities === undefined) return this.#ticketKeys
    const salt = hash('sha256', clientAuthorities, 'buffer')
    return Buffer.from(hkdfSync('sha256', this.#ticketKeys, salt, 'mutual TLS', TICKET_KEY_BYTES))
  }

  #dropOldest(): void {
    const oldest = this.#contexts.keys().next()
    if (!oldest.done) this.#contexts.delete(oldest.value)
  }
}
