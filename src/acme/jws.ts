import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  sign,
  type KeyObject,
} from 'node:crypto'
import { Secret } from '#base/secrets.ts'

/** The identification of a signed message: the key itself for a new account, the account URL afterwards. */
interface Envelope {
  readonly url: string
  /** Only a nested message has none. */
  readonly nonce: string | undefined
  readonly account: string | undefined
}

interface Jwk {
  readonly crv: string
  readonly kty: string
  readonly x: string
  readonly y: string
}

/** The flattened JSON form of RFC 7515. */
interface Signed {
  readonly protected: string
  readonly payload: string
  readonly signature: string
}

const base64 = (text: string): string => Buffer.from(text).toString('base64url')

/** An account key: ECDSA on P-256, which every CA supports (RFC 8555 §6.2). */
export class AccountKey {
  readonly #key: KeyObject
  /** The public half. */
  readonly jwk: Jwk
  /** RFC 7638: part of every challenge response. */
  readonly thumbprint: string

  private constructor(key: KeyObject) {
    const { crv = '', kty = '', x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' })
    this.#key = key
    // The thumbprint is over exactly these members, in this order.
    this.jwk = { crv, kty, x, y }
    this.thumbprint = hash('sha256', JSON.stringify(this.jwk), 'base64url')
  }

  static make(): AccountKey {
    return new AccountKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
  }

  static open(pem: Secret): AccountKey {
    return new AccountKey(createPrivateKey(pem.reveal()))
  }

  pem(): Secret {
    return new Secret(this.#key.export({ type: 'pkcs8', format: 'pem' }))
  }

  /** A message as sent; without a payload it is a POST-as-GET. */
  sign(envelope: Envelope, payload: object | undefined): string {
    return JSON.stringify(this.signed(envelope, payload))
  }

  signed({ url, nonce, account }: Envelope, payload: object | undefined): Signed {
    const who = account === undefined ? { jwk: this.jwk } : { kid: account }
    const head = base64(JSON.stringify({ alg: 'ES256', ...who, nonce, url }))
    const body = payload === undefined ? '' : base64(JSON.stringify(payload))
    const signature = sign('sha256', Buffer.from(`${head}.${body}`), {
      key: this.#key,
      dsaEncoding: 'ieee-p1363',
    })
    return { protected: head, payload: body, signature: signature.toString('base64url') }
  }
}
