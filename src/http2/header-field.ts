/** The rules of RFC 9113 for a field. */
type FieldKind = 'regular' | 'pseudo' | 'invalid-name' | 'invalid-value' | 'connection'

/** Of HTTP/1; they must not appear in HTTP/2 (RFC 9113 §8.2.2). */
const ofConnection = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])

export const isOfConnection = (name: string): boolean => ofConnection.has(name)

/** Lower case letters, digits and the other characters of tokens. */
const nameCharacters = Uint8Array.from({ length: 256 }, (_, code) =>
  /[a-z0-9!#$%&'*+.^_`|~-]/.test(String.fromCharCode(code)) ? 1 : 0,
)
/** Overhead of an entry in the tables and in the size of a header list (RFC 7541 §4.1). */
const ENTRY_OVERHEAD = 32
const COLON = 0x3a

/** A name and a value. Entries of the table appear in request after request, so they are checked only once. */
export class HeaderField {
  readonly name: string
  readonly value: string
  readonly kind: FieldKind
  /** What the reader of requests has found out about this field; undefined before. */
  verdict: unknown = undefined

  constructor(name: string, value: string) {
    this.name = name
    this.value = value
    this.kind = kindOf(name, value)
  }

  get size(): number {
    return this.name.length + this.value.length + ENTRY_OVERHEAD
  }
}

/** Whether trailers are well-formed. */
export const areTrailers = (fields: readonly HeaderField[]): boolean =>
  fields.every(({ kind }) => kind === 'regular')

function kindOf(name: string, value: string): FieldKind {
  const isPseudo = name.charCodeAt(0) === COLON
  const from = isPseudo ? 1 : 0
  if (name.length === from) return 'invalid-name'
  for (let at = from; at < name.length; at++)
    if (nameCharacters[name.charCodeAt(at)] !== 1) return 'invalid-name'
  if (!isValue(value)) return 'invalid-value'
  if (isPseudo) return 'pseudo'
  return ofConnection.has(name) ? 'connection' : 'regular'
}

/** Without control characters except tab, and without blanks around it (RFC 9113 §8.2.1). */
function isValue(value: string): boolean {
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at)
    if ((code < 0x20 && code !== 0x09) || code === 0x7f) return false
  }
  return !isBlank(value.charCodeAt(0)) && !isBlank(value.charCodeAt(value.length - 1))
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09
