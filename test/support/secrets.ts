import assert from 'node:assert/strict'
import { createLog, type Log } from '#base/log.ts'

/**
 * Part of every secret that a test gives to a server. Letters alone, so that it is the same in JSON, in a URL and in a
 * header.
 */
export const MARKER = 'HUSHxMARKERxHUSH'

/** A secret to give to a server; if it leaks, its name says which it was. */
export const secretText = (name: string): string => `${MARKER}-${name.replaceAll(/[^0-9A-Za-z]+/g, '-')}`

/** Secrets into which no marker fits: keys, cookies, tokens of others. */
const registered = new Set<string>()
const MIN_LENGTH = 16

/** Registers a secret that was generated elsewhere. Shorter texts occur by chance. */
export function registerSecret(secret: string): string {
  if (secret.length >= MIN_LENGTH) registered.add(secret)
  return secret
}

/** Registers a private key by its second line: the first is the same for all keys of a type. */
export function registerKey(pem: string): string {
  const lines = pem.split('\n').filter(line => line !== '' && !line.startsWith('-'))
  // A long key is an RSA key, which begins with its public half.
  const secret = lines.length > 10 ? lines.at(-2) : (lines[1] ?? lines[0])
  registerSecret((secret ?? '').trim())
  return pem
}

/** The marker in base64, wherever in its groups of three bytes it begins; what depends on its neighbours is cut. */
const inBase64 = [0, 1, 2].map(before => {
  const text = Buffer.from('-'.repeat(before) + MARKER).toString('base64')
  return text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + MARKER.length) * 4) / 3))
})

const markers = [MARKER, MARKER.toLowerCase(), Buffer.from(MARKER).toString('hex'), ...inBase64]

/** Each begins with a rare character, so that long texts are searched quickly. */
const shapes = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\s|\\[nr])+[A-Za-z0-9+/]{8}/,
  // A private key as JSON has it.
  /"d":"[A-Za-z0-9_-]{40}/,
]

/** An API key or an authtoken, as #base/ids.ts makes them; inside of a longer base64url, as sealed values are, it is chance. */
const TOKEN = /(?<![\w-])[0-9A-Za-z]{27}_[0-9A-Za-z]{43}(?![\w-])/
const [BEFORE, BEHIND] = [27, 44]
const [ZERO, Z] = ['0'.charCodeAt(0), 'z'.charCodeAt(0)]

/** Where a token begins. A regular expression alone takes ten times as long, for all the underscores of JSON. */
function findToken(text: string): number {
  for (let at = text.indexOf('_', BEFORE); at >= 0; at = text.indexOf('_', at + 1)) {
    const last = text.charCodeAt(at + BEHIND - 1)
    if (last < ZERO || last > Z) continue
    if (TOKEN.test(text.slice(Math.max(0, at - BEFORE - 1), at + BEHIND + 1))) return at - BEFORE
  }
  return -1
}

interface Place {
  readonly at: number
  readonly length: number
}

function findPlace(text: string): Place | undefined {
  for (const secrets of [markers, registered])
    for (const secret of secrets) {
      const at = text.indexOf(secret)
      if (at >= 0) return { at, length: secret.length }
    }
  const token = findToken(text)
  if (token >= 0) return { at: token, length: BEFORE + BEHIND }
  for (const shape of shapes) {
    const found = shape.exec(text)
    if (found) return { at: found.index, length: found[0].length }
  }
  return undefined
}

const CONTEXT = 200

/** The line with the first secret in a text, the secret cut out; undefined when there is none. */
export function findSecret(text: string): string | undefined {
  const place = findPlace(text)
  if (!place) return undefined
  const { at, length } = place
  const before = text.slice(Math.max(0, at - CONTEXT), at)
  const after = text.slice(at + length, at + length + CONTEXT)
  return `${before.slice(before.lastIndexOf('\n') + 1)}[secret]${after.split('\n', 1)[0] ?? ''}`
}

export function assertNoSecret(where: string, text: string): void {
  const line = findSecret(text)
  assert.ok(line === undefined, `${where} contains a secret: ${line}`)
}

/** The output of a server or a part of one. It is searched once at the end: searching each line would take too long. */
export class RecordedOutput {
  readonly #where: string
  readonly #pieces = new Map<string, string[]>()

  constructor(where: string) {
    this.#where = where
    recordings.add(this)
  }

  readonly write = (text: string | Buffer): void => this.add(this.#where, String(text))

  /** Adds output from another place. */
  add(where: string, text: string): void {
    const pieces = this.#pieces.get(where)
    if (pieces) pieces.push(text)
    else this.#pieces.set(where, [text])
  }

  /** Throws if a secret is in the output since the last check. */
  check(): void {
    const all = [...this.#pieces]
    this.#pieces.clear()
    for (const [where, pieces] of all) assertNoSecret(where, pieces.join(''))
  }

  /** Checks for the last time: no more output follows. */
  end(): void {
    recordings.delete(this)
    this.check()
  }
}

const recordings = new Set<RecordedOutput>()

// Output that a test never ends is searched when the process exits; a secret then fails the whole file.
process.on('exit', () => {
  for (const output of recordings) {
    try {
      output.check()
    } catch (error) {
      process.stderr.write(`${String(error)}\n`)
      process.exitCode = 1
    }
  }
})

/** A log for parts that are tested without a server. */
export const testLog = (): Log => createLog('debug', new RecordedOutput('a log'))

/** Throws when a response of the gateway itself, recognised by its error code, contains a secret. */
export function assertNoSecretInPage(headers: Readonly<Record<string, unknown>>, text: string): void {
  if (headers['adit-error-code'] !== undefined)
    assertNoSecret('an error page', `${JSON.stringify(headers)} ${text}`)
}
