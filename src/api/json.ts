import { fail, Problem } from '#base/errors.ts'
import { endOfText, JsonBounds, nextSign } from '#base/json-bounds.ts'
import { jsonFault } from '#base/json-fault.ts'
import { isPlainObject } from '#base/plain-object.ts'

const [QUOTE, OPEN_LIST, OPEN_OBJECT] = [0x22, 0x5b, 0x7b]

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * JSON.parse keeps the last of two equal keys and gives `__proto__` a special meaning, so that a check and its use can
 * see different values. This scan rejects both before parsing; no maintained package does it in one pass.
 */
function refuseTraps(text: string): void {
  const bounds = new JsonBounds()
  const open: (Set<string> | undefined)[] = []
  let end = 0
  for (let start = nextSign(text, end); start !== -1; start = nextSign(text, end)) {
    const code = text.charCodeAt(start)
    end = code === QUOTE ? endOfText(text, start) : start + 1
    const keys = open[bounds.depth]
    if (code === QUOTE && keys && isKey(text, end)) addKey(keys, text.slice(start, end))
    const fault = bounds.add(code)
    if (fault !== undefined) fail('body_unparseable', { reason: fault })
    if (code === OPEN_OBJECT) open[bounds.depth] = new Set()
    else if (code === OPEN_LIST) open[bounds.depth] = undefined
  }
}

function isKey(text: string, end: number): boolean {
  let position = end
  while (' \t\n\r'.includes(text[position] ?? 'x')) position++
  return text[position] === ':'
}

function addKey(keys: Set<string>, quoted: string): void {
  const key = readString(quoted)
  if (keys.has(key)) fail('body_unparseable', { reason: `the key "${key}" is there twice` })
  if (key === '__proto__') fail('body_unparseable', { reason: 'the key "__proto__" is not allowed' })
  keys.add(key)
}

function readString(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    return fail('body_unparseable', { reason: 'a text in it is not well-formed' })
  }
}

/** Parses a request body: an object, strictly. An empty body is an empty object, as the Python client sends it. */
export function parseBody(bytes: Buffer): Record<string, unknown> {
  const value = bytes.length === 0 ? {} : parse(decode(bytes))
  return isPlainObject(value) ? value : fail('body_unparseable', { reason: 'it must be a JSON object' })
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    return fail('body_unparseable', { reason: 'it is not UTF-8' })
  }
}

const LONE_CANDIDATE = /\\u[dD][89a-fA-F]/

function refuseHalfCharacters(key: string, value: unknown): unknown {
  if (!key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed()))
    fail('body_unparseable', { reason: 'a text in it has half of a character (\\ud800 to \\udfff)' })
  return value
}

function parse(text: string): unknown {
  refuseTraps(text)
  try {
    // RFC 8259 §8.2: a lone surrogate is not a character; no database or other client could return it.
    return LONE_CANDIDATE.test(text) ? JSON.parse(text, refuseHalfCharacters) : JSON.parse(text)
  } catch (error) {
    if (error instanceof Problem) throw error
    return fail('body_unparseable', { reason: jsonFault(error) })
  }
}
