import {
  createHash,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { UnusableSecret } from '#webhooks/webhook.ts'

export type Algorithm = 'sha1' | 'sha256' | 'sha512'

/** `either` if senders, or their documentation, use both. */
export type Encoding = 'hex' | 'base64' | 'either'

/** The signed message, in pieces, so that a large body need not be copied. */
export type SignedMessage = readonly (string | Buffer)[]

export const digestBytes: Readonly<Record<Algorithm, number>> = { sha1: 20, sha256: 32, sha512: 64 }

/** Bytes, or characters, that are hashed in about a millisecond. */
const SLICE = 1024 * 1024
/** More than any secret has. */
const MAX_KEY = 4096
const HEX = /^[0-9a-f]+$/i
const BASE64 = /^[a-z0-9+/]+={0,2}$/i
// Texts are compared by their digests, which have one length; the key prevents precomputation.
const comparisonKey = createSecretKey(randomBytes(32))

/** The bytes of a signature of that size; undefined when it is malformed. */
export function signatureBytes(text: string, encoding: Encoding, size: number): Buffer | undefined {
  if (encoding !== 'base64' && text.length === size * 2 && HEX.test(text)) return Buffer.from(text, 'hex')
  const bytes = encoding === 'hex' ? undefined : base64Bytes(text, size)
  return bytes?.length === size ? bytes : undefined
}

/** Decodes base64; undefined when it is invalid, or longer than `maxBytes`. Node's decoder accepts anything. */
export const base64Bytes = (text: string, maxBytes: number): Buffer | undefined =>
  text.length <= Math.ceil(maxBytes / 3) * 4 && BASE64.test(text) ? Buffer.from(text, 'base64') : undefined

export function hmacOf(algorithm: Algorithm, key: KeyObject, message: SignedMessage): Buffer {
  const hmac = createHmac(algorithm, key)
  for (const piece of message) hmac.update(piece)
  return hmac.digest()
}

/** The same for a message with a body, without blocking other work. */
export async function bodyHmac(
  algorithm: Algorithm,
  key: KeyObject,
  message: SignedMessage,
): Promise<Buffer> {
  const hmac = createHmac(algorithm, key)
  await feed(hmac, message)
  return hmac.digest()
}

export async function bodyHash(algorithm: Algorithm, message: SignedMessage): Promise<Buffer> {
  const hash = createHash(algorithm)
  await feed(hash, message)
  return hash.digest()
}

/** Hashes a message in slices. */
export async function feed(
  to: { update(piece: string | Buffer): unknown },
  message: SignedMessage,
): Promise<void> {
  for (const piece of message) {
    to.update(piece.slice(0, SLICE))
    for (let at = SLICE; at < piece.length; at += SLICE) {
      await setImmediate()
      to.update(piece.slice(at, at + SLICE))
    }
  }
}

/** Whether one of them is right; all are compared, in constant time. */
export const someEqual = (signatures: readonly Buffer[], right: Buffer): boolean =>
  signatures.reduce((found, each) => timingSafeEqual(each, right) || found, false)

/** Compares two secrets in constant time. */
export const sameSecret = (given: Buffer, right: Buffer): boolean =>
  timingSafeEqual(hmacOf('sha256', comparisonKey, [given]), hmacOf('sha256', comparisonKey, [right]))

export const keyOf = (secret: string): KeyObject => createSecretKey(Buffer.from(secret))

/** The key in a base64 secret. */
export function base64Key(secret: string): KeyObject {
  const bytes = base64Bytes(secret, MAX_KEY)
  if (bytes === undefined || bytes.length === 0)
    throw new UnusableSecret('must be base64, as the sender shows it')
  return createSecretKey(bytes)
}
