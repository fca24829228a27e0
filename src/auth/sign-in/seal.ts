import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'

const KEY_BYTES = 32
const ID_BYTES = 4
const SALT_BYTES = 16
const TAG_BYTES = 16
const EXPIRY_BYTES = 8
const HEAD_BYTES = 1 + ID_BYTES + SALT_BYTES
const LEAST_BYTES = HEAD_BYTES + TAG_BYTES + EXPIRY_BYTES
const VERSION = 1
/** More than five cookies can carry, the most that is ever sealed. */
const MAX_TEXT = 32_768
const TEXT = /^[\w-]+$/

interface Key {
  readonly id: Buffer
  readonly secret: Buffer
}

interface SealOptions {
  /** Previous keys: what they sealed is still valid. */
  readonly older?: readonly Buffer[]
  readonly now?: () => number
}

/**
 * Encrypts values that travel through untrusted hands. A value sealed for one purpose never opens for another; its
 * audience (a host, a realm) belongs into the purpose.
 */
export class Seal {
  readonly #current: Key
  readonly #keys: readonly Key[]
  readonly #now: () => number

  constructor(key: Buffer, { older = [], now = Date.now }: SealOptions = {}) {
    this.#current = keyOf(key)
    this.#keys = [this.#current, ...older.map(keyOf)]
    this.#now = now
  }

  /** Base64url text, valid for so many milliseconds. */
  seal(purpose: string, value: unknown, ttlMs: number): string {
    const salt = randomBytes(SALT_BYTES)
    const head = Buffer.concat([Buffer.of(VERSION), this.#current.id, salt])
    const expiry = Buffer.alloc(EXPIRY_BYTES)
    expiry.writeDoubleBE(this.#now() + ttlMs)
    const { key, nonce } = messageKey(this.#current, salt, purpose)
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(associated(head, purpose))
    const parts = [
      cipher.update(expiry),
      cipher.update(JSON.stringify(value) ?? 'null', 'utf8'),
      cipher.final(),
    ]
    const text = Buffer.concat([head, cipher.getAuthTag(), ...parts]).toString('base64url')
    if (text.length > MAX_TEXT) throw new RangeError('The value is too large to be sealed.')
    return text
  }

  /** The value sealed for this purpose; undefined for anything invalid. */
  open(purpose: string, text: string): unknown {
    return this.openUntil(purpose, text)?.value
  }

  /** The same, with its expiry. */
  openUntil(purpose: string, text: string): { readonly value: unknown; readonly until: number } | undefined {
    if (text.length > MAX_TEXT || !TEXT.test(text)) return undefined
    const bytes = Buffer.from(text, 'base64url')
    if (bytes.length < LEAST_BYTES || bytes[0] !== VERSION) return undefined
    // Decoding ignores surplus bits and a surplus character; a value has one text only.
    if (bytes.toString('base64url') !== text) return undefined
    const id = bytes.subarray(1, 1 + ID_BYTES)
    const known = this.#keys.find(each => each.id.equals(id))
    const plain = known && decrypted(known, purpose, bytes)
    if (plain === undefined) return undefined
    const until = plain.readDoubleBE()
    if (!(this.#now() < until)) return undefined
    return { value: JSON.parse(plain.toString('utf8', EXPIRY_BYTES)), until }
  }
}

function keyOf(secret: Buffer): Key {
  if (secret.length !== KEY_BYTES) throw new TypeError('A sealing key must have 32 bytes.')
  const id = createHash('sha256').update('adit seal key id\0').update(secret).digest().subarray(0, ID_BYTES)
  return { id, secret }
}

/** A key per message: however many are sealed, no key and nonce are ever reused. */
function messageKey({ secret }: Key, salt: Buffer, purpose: string): { key: Buffer; nonce: Buffer } {
  const bytes = createHmac('sha512', secret).update(salt).update(purpose).digest()
  return { key: bytes.subarray(0, 32), nonce: bytes.subarray(32, 44) }
}

const associated = (head: Buffer, purpose: string): Buffer =>
  Buffer.concat([head.subarray(0, 1 + ID_BYTES), Buffer.from(purpose)])

function decrypted(known: Key, purpose: string, bytes: Buffer): Buffer | undefined {
  const head = bytes.subarray(0, HEAD_BYTES)
  const tag = bytes.subarray(HEAD_BYTES, HEAD_BYTES + TAG_BYTES)
  const { key, nonce } = messageKey(known, head.subarray(1 + ID_BYTES), purpose)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(associated(head, purpose))
  decipher.setAuthTag(tag)
  try {
    return Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    // Modified, truncated, or sealed for another purpose: callers cannot distinguish these.
    return undefined
  }
}
