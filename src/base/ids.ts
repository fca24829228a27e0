const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 27
/** KSUIDs count seconds from this moment (2014-05-13T16:53:20Z). */
const EPOCH_MS = 1_400_000_000_000
const FRACTION_STEPS = 2 ** 32

let lastTick = 0n

/**
 * The next moment as seconds and a 32-bit fraction. Ids of one process are strictly increasing, so that
 * "newest first" has one meaning even within a second.
 */
function nextTick(now: number): bigint {
  const sinceEpoch = now - EPOCH_MS
  const seconds = Math.floor(sinceEpoch / 1000)
  const fraction = Math.floor(((sinceEpoch % 1000) / 1000) * FRACTION_STEPS)
  const tick = (BigInt(seconds) << 32n) | BigInt(fraction)
  lastTick = tick > lastTick ? tick : lastTick + 1n
  return lastTick
}

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = ALPHABET.charAt(Number(rest % 62n)) + text
  return text
}

function randomBits(bytes: number): bigint {
  let value = 0n
  for (const byte of crypto.getRandomValues(new Uint8Array(bytes))) value = (value << 8n) | BigInt(byte)
  return value
}

/** Time-ordered id in the KSUID form: `prefix_` and 27 characters, 96 bits of them random. */
export function newId(prefix: string, now = Date.now()): string {
  return `${prefix}_${base62((nextTick(now) << 96n) | randomBits(12), ID_LENGTH)}`
}

/** The part of an id after its prefix. */
export const randomPart = (id: string): string => id.slice(id.lastIndexOf('_') + 1)

/** A bearer token for the resource `id`: 256 bits of randomness behind the id's own random part. */
export const newToken = (id: string): string => `${randomPart(id)}_${base62(randomBits(32), 43)}`

/** True for text of the form `prefix_` + 27 base-62 characters. */
export const isId = (text: string): boolean => /^[a-z0-9]+_[0-9A-Za-z]{27}$/.test(text)

/** Time as the API writes it: UTC, whole seconds. */
export const timestamp = (milliseconds: number): string =>
  `${new Date(milliseconds).toISOString().slice(0, 19)}Z`
