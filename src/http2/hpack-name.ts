import { isOfConnection } from '#http2/header-field.ts'
import { staticTable } from '#http2/static-table.ts'

const MAX_KNOWN_NAMES = 2048

/** How a field is represented: in the table, only as text, as text that no proxy may put into a table, or not at all. */
type Representation = 'indexed' | 'literal' | 'never' | 'absent'

const secret = new Set(['cookie', 'set-cookie', 'authorization', 'proxy-authorization', 'www-authenticate'])
/** Their values differ from message to message. */
const changing = new Set(['content-length', 'content-range', 'etag', 'location', 'age', 'last-modified'])

export interface HpackName {
  readonly text: string
  /** Of the static table; 0 without one. */
  readonly index: number
  readonly representation: Representation
  /** As it is written without an index; undefined before the first time. */
  coded: Buffer | undefined
}

const staticNames = new Map<string, number>()
for (const [at, [name]] of staticTable.entries()) if (!staticNames.has(name)) staticNames.set(name, at + 1)

/** The index of a name in the static table; 0 without one. */
export const staticIndexOf = (name: string): number => staticNames.get(name) ?? 0

// The same few names are written again and again, in any case.
const known = new Map<string, HpackName>()

export function nameOf(written: string): HpackName {
  const found = known.get(written)
  if (found !== undefined) return found
  const text = written.toLowerCase()
  const index = staticIndexOf(text)
  const name: HpackName = { text, index, representation: representationOf(text), coded: undefined }
  if (known.size >= MAX_KNOWN_NAMES) known.clear()
  known.set(written, name)
  return name
}

function representationOf(name: string): Representation {
  if (isOfConnection(name)) return 'absent'
  if (secret.has(name)) return 'never'
  return changing.has(name) ? 'literal' : 'indexed'
}
