import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import { fail } from '#base/errors.ts'

/** OWASP's second choice for scrypt: 32 MiB for each of three passes, so that a few at once fit on small machines. */
const COST: ScryptOptions = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 }
const SALT_BYTES = 16
const KEY_BYTES = 32
/** Computed at once; each takes a thread and 32 MiB. */
const MAX_RUNNING = 4
const FORM = /^scrypt\$([\w-]{22})\$([\w-]{43})$/

let running = 0

async function derive(password: string, salt: Buffer): Promise<Buffer> {
  if (running >= MAX_RUNNING) fail('passwords_busy', { retryAfter: 2 })
  running++
  try {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    // Keyboards differ in how they compose the same character.
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, COST, (error, key) =>
      error ? reject(error) : resolve(key),
    )
    return await promise
  } finally {
    running--
  }
}

/** How a password is stored. */
export async function passwordHash(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const key = await derive(password, salt)
  return `scrypt$${salt.toString('base64url')}$${key.toString('base64url')}`
}

/** Whether a password matches. Without a stored one it takes as long, so that times do not reveal users. */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, salt = '', expected = ''] = FORM.exec(stored ?? '') ?? []
  const key = await derive(password, salt === '' ? randomBytes(SALT_BYTES) : Buffer.from(salt, 'base64url'))
  const known = Buffer.from(expected, 'base64url')
  return known.length === key.length && timingSafeEqual(known, key)
}
