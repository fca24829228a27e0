import { createCipheriv, createDecipheriv, hash, randomBytes, timingSafeEqual } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
export const MASTER_KEY_BYTES = 32

/** Text that must never be printed: every accidental conversion to a string gives a placeholder. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[secret]'
  }
}

/** Encrypts texts with the master key. A ciphertext of one record cannot be decrypted as another's. */
export class Sealer {
  readonly #key: Buffer
  /** Identifies the key without revealing anything about it. */
  readonly keyId: string

  constructor(key: Buffer) {
    if (key.length !== MASTER_KEY_BYTES) throw new Error('the master key must have 32 bytes')
    this.#key = key
    this.keyId = hash('sha256', Buffer.concat([Buffer.from('adit master key id'), key]), 'hex').slice(0, 8)
  }

  seal(text: string, recordId: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(Buffer.from(recordId))
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `${this.keyId}.${sealed.toString('base64url')}`
  }

  unseal(sealed: string, recordId: string): string {
    const [keyId, data = ''] = sealed.split('.')
    if (keyId !== this.keyId) throw new Error(`a secret of ${recordId} was encrypted with another master key`)
    const bytes = Buffer.from(data, 'base64url')
    const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(recordId))
      .setAuthTag(bytes.subarray(-TAG_BYTES))
    return (
      decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    )
  }
}

/** How a token is stored: tokens have 256 random bits, so one plain hash is enough. */
export const tokenHash = (token: string): string => hash('sha256', token, 'hex')

/** Compares in constant time. */
export function sameText(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}
