import { createHmac } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { sameText, Sealer } from '#base/secrets.ts'
import type { EndpointAddress } from '#registry/directory.ts'
import { bindOptions, type BindOptions, withoutDefaults } from '#tunnel/messages.ts'

/** The content of a token for a previously accepted tunnel. */
export interface ResumedTunnel {
  readonly id: string
  readonly credentialId: string
  readonly address: EndpointAddress
  readonly startedAt: string
  /** Undefined if they were too large for a token. */
  readonly options: BindOptions | undefined
}

// The stored and the parsed form of a token.
const MAX_TOKEN = 4096
const MAX_CONTENT = 65_536
/** Compression costs more than all the rest of a token, so a small one goes without. */
const COMPRESSED_FROM = 1024
const PURPOSE = 'tunnel'

/** JSON, or the base64 form of compressed JSON, which never begins with a brace. */
const pack = (json: string): string =>
  json.length < COMPRESSED_FROM ? json : deflateRawSync(json).toString('base64')

const unpack = (text: string): string =>
  text.startsWith('{')
    ? text
    : inflateRawSync(Buffer.from(text, 'base64'), { maxOutputLength: MAX_CONTENT }).toString()

/**
 * Creates and verifies the tokens that agents return after a lost connection. All processes of an installation have the
 * same key, so an agent may return to another one. No one else can create or read a token.
 */
export class ResumptionTokens {
  readonly #key: Buffer
  readonly #sealer: Sealer

  /** The key has 32 bytes. */
  constructor(key: Buffer) {
    this.#key = createHmac('sha256', key).update('cookies').digest()
    this.#sealer = new Sealer(createHmac('sha256', key).update('tokens').digest())
  }

  /** Proves ownership of a session: the session id is not enough to take it over. */
  cookie(session: {
    readonly id: string
    readonly credentialId: string
    readonly startedAt: string
  }): string {
    const { id, credentialId, startedAt } = session
    return `${startedAt} ${this.#sign(id, credentialId, startedAt)}`
  }

  /** The start time of the session that a cookie proves; undefined when it is invalid. */
  sessionStart(cookie: string, id: string, credentialId: string): string | undefined {
    const [startedAt = '', mac = ''] = cookie.split(' ')
    return sameText(mac, this.#sign(id, credentialId, startedAt)) ? startedAt : undefined
  }

  token(proof: ResumedTunnel): string {
    const token = this.#seal(proof)
    return token.length <= MAX_TOKEN ? token : this.#seal({ ...proof, options: undefined })
  }

  /** The content of a valid token. */
  tunnel(token: string): ResumedTunnel | undefined {
    if (token === '') return undefined
    try {
      const proof = JSON.parse(unpack(this.#sealer.unseal(token, PURPOSE))) as ResumedTunnel
      return { ...proof, options: proof.options && bindOptions(proof.options, '') }
    } catch {
      // From another installation, or forged.
      return undefined
    }
  }

  #seal(proof: ResumedTunnel): string {
    const options = proof.options && withoutDefaults(proof.options)
    return this.#sealer.seal(pack(JSON.stringify({ ...proof, options })), PURPOSE)
  }

  #sign(...parts: string[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(parts)).digest('base64url')
  }
}
