import { constants } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { openChallenge } from '#gateway/acme/challenge-rows.ts'
import { textOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'
import type { ClientHello } from '#tls/client-hello.ts'
import { acmeCertificate } from '#pki/acme-certificate.ts'

/** The protocol of RFC 8737, which ends with the handshake. */
export const ACME_ALPN = 'acme-tls/1'

/** A CA connects a few times for a name, each time from another place. */
const MAX_CONTEXTS = 256

/** A CA offers no other protocol; clients that offer others never get this certificate. */
export const isTlsChallenge = ({ alpn }: ClientHello): boolean => alpn.length === 1 && alpn[0] === ACME_ALPN

/** Creates the validation certificate, once for each challenge. */
export class TlsChallenges {
  readonly #records: Pick<Records, 'tlsChallenges'>
  readonly #now: () => number
  readonly #contexts = new Map<string, Promise<SecureContext>>()

  constructor(records: Pick<Records, 'tlsChallenges'>, now: () => number = Date.now) {
    this.#records = records
    this.#now = now
  }

  /** Undefined when no certificate was requested for this name. */
  contextFor(name: string): Promise<SecureContext> | undefined {
    const row = openChallenge(this.#records.tlsChallenges(name), name, this.#now())
    if (row === undefined) return undefined
    const keyAuthorization = textOf(row, 'key_authorization')
    const key = `${name}\n${keyAuthorization}`
    const known = this.#contexts.get(key)
    if (known !== undefined) return known
    const made = this.#make(name, keyAuthorization)
    this.#contexts.set(key, made)
    const [oldest] = this.#contexts.size > MAX_CONTEXTS ? this.#contexts.keys() : []
    if (oldest !== undefined) this.#contexts.delete(oldest)
    made.catch(() => this.#contexts.delete(key))
    return made
  }

  async #make(name: string, keyAuthorization: string): Promise<SecureContext> {
    const { certificatePem, privateKeyPem } = await acmeCertificate(name, keyAuthorization, this.#now())
    return createSecureContext({
      cert: certificatePem,
      key: privateKeyPem.reveal(),
      minVersion: 'TLSv1.2',
      secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
    })
  }
}
