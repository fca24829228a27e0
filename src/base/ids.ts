import { createHash } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 27
/** KSUID epoch (2014-05-13T16:53:20Z). */
const EPOCH_MS = 1_400_000_000_000
const FRACTION_STEPS = 2 ** 32

let lastSeconds = 0
let lastFraction = 0

/**
 * The next time as seconds and a 32-bit fraction. Ids of one process are strictly increasing, so that "newest first" is
 * well defined even within a second.
 */
function nextTick(now: number): [seconds: number, fraction: number] {
  const sinceEpoch = now - EPOCH_MS
  const seconds = Math.floor(sinceEpoch / 1000)
  const fraction = Math.floor(((sinceEpoch % 1000) / 1000) * FRACTION_STEPS)
  if (seconds > lastSeconds || (seconds === lastSeconds && fraction > lastFraction)) {
    lastSeconds = seconds
    lastFraction = fraction
  } else if (++lastFraction === FRACTION_STEPS) {
    lastSeconds++
    lastFraction = 0
  }
  return [lastSeconds, lastFraction]
}

/** Random 16-bit words, generated in bulk: one call of the generator costs more than an id. */
const pool = new Uint16Array(4096)
let unused = 0

function randomWord(): number {
  if (unused === 0) {
    crypto.getRandomValues(pool)
    unused = pool.length
  }
  const word = pool[--unused] ?? 0
  pool[unused] = 0
  return word
}

const WORD = 2 ** 16
const DIGITS = 5
const CHUNK = 62 ** DIGITS
const CODES = Buffer.from(ALPHABET)

// For one number at a time. A number may be secret, so both are zero again afterwards.
const parts = new Float64Array(16)
const digits = Buffer.alloc(48)

/**
 * Encodes a large number, given as at most 16 words of 16 bits, in base 62. BigInt is many times slower than this long
 * division by five digits at a time, the largest divisor whose products stay exact.
 */
function base62(words: readonly number[], length: number): string {
  for (let index = 0; index < words.length; index++) parts[index] = words[index] ?? 0
  let first = 0
  for (let start = length; start > 0;) {
    let rest = 0
    for (let index = first; index < words.length; index++) {
      const part = rest * WORD + (parts[index] ?? 0)
      const quotient = Math.floor(part / CHUNK)
      parts[index] = quotient
      rest = part - quotient * CHUNK
    }
    while (parts[first] === 0) first++
    for (let digit = 0; digit < DIGITS && start > 0; digit++) {
      const left = Math.trunc(rest / 62)
      digits[--start] = CODES[rest - left * 62] ?? 0
      rest = left
    }
  }
  const text = digits.toString('latin1', 0, length)
  digits.fill(0, 0, length)
  return text
}

/** Time-ordered id in the KSUID form: `prefix_` and 27 characters, 96 bits of them random. */
export function newId(prefix: string, now = Date.now()): string {
  const [seconds, fraction] = nextTick(now)
  const words = [seconds >>> 16, seconds & 0xffff, fraction >>> 16, fraction & 0xffff]
  for (let word = 0; word < 6; word++) words.push(randomWord())
  return `${prefix}_${base62(words, ID_LENGTH)}`
}

/** The smallest id of this time, byte by byte. */
export function lowestId(prefix: string, milliseconds: number): string {
  const seconds = Math.max(0, Math.floor((milliseconds - EPOCH_MS) / 1000))
  const words = [seconds >>> 16, seconds & 0xffff, 0, 0, 0, 0, 0, 0, 0, 0]
  return `${prefix}_${base62(words, ID_LENGTH)}`
}

/** The time part of an id. */
const TIME_LENGTH = 11

/** An id derived from another one and a text: deterministic, with the time order of the other one. */
export function derivedId(prefix: string, from: string, text: string): string {
  const digest = createHash('sha256').update(`${from} ${text}`).digest()
  const rest = Array.from(digest.subarray(0, ID_LENGTH - TIME_LENGTH), byte => ALPHABET.charAt(byte % 62))
  return `${prefix}_${timePart(from)}${rest.join('')}`
}

/** Equal for ids created at about the same time. */
export const timePart = (id: string): string => randomPart(id).slice(0, TIME_LENGTH)

/** The part of an id after its prefix. */
export const randomPart = (id: string): string => id.slice(id.lastIndexOf('_') + 1)

/** A bearer token for the resource `id`: 256 random bits after the id's own random part. */
export const newToken = (id: string): string =>
  `${randomPart(id)}_${base62(Array.from({ length: 16 }, randomWord), 43)}`

/** True for text of the form `prefix_` + 27 base-62 characters. */
export const isId = (text: string): boolean => /^[a-z0-9]+_[0-9A-Za-z]{27}$/.test(text)

let writtenSecond = Number.NaN
let written = ''

/** Time as the API writes it: UTC, whole seconds. The last one is kept: many are written in one second. */
export function timestamp(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000)
  if (second !== writtenSecond) {
    written = `${new Date(milliseconds).toISOString().slice(0, 19)}Z`
    writtenSecond = second
  }
  return written
}
