const SUSPECT = /[%\\;]|\/\.|\/\//
/** The same, and names that end in a dot, which some services drop. */
const LENIENTLY_SUSPECT = /[%\\;]|\/\.|\/\/|\.(?:\/|$)/
const UNUSUAL = /%|\/\.|\/\//
const MAX_UNDOINGS = 3
// Characters in all interpretations together: a long path may have few, and legitimate ones have few.
const MAX_WORK = 65_536

/** The path with dots resolved and double slashes merged, as most services see it. */
function resolved(path: string): string {
  const kept: string[] = []
  const segments = path.split('/').slice(1)
  for (const [at, segment] of segments.entries()) {
    const isLast = at === segments.length - 1
    if (segment === '..') kept.pop()
    else if (segment !== '.' && (segment !== '' || isLast)) kept.push(segment)
    if (isLast && (segment === '..' || segment === '.')) kept.push('')
  }
  return `/${kept.join('/')}`
}

/** Decodes escapes: of plain characters only, or of all. */
function unescaped(path: string, which: 'plain' | 'all'): string {
  return path.replaceAll(/%([0-9a-f]{2})/gi, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    return which === 'all' || /[\w.~-]/.test(character) ? character : escape.toUpperCase()
  })
}

/** Escapes characters that are not allowed in a path, and upper-cases existing escapes. */
const escaped = (path: string): string =>
  path
    .replaceAll(/[^\x21-\x7e]+/g, text => encodeURIComponent(text.toWellFormed()))
    .replaceAll(/%[0-9a-f]{2}/gi, escape => escape.toUpperCase())

/** Spellings of a path: with its escapes, without unnecessary ones, without any. */
export function equivalentPaths(path: string): ReadonlySet<string> {
  const whole = escaped(path)
  return new Set([whole, resolved(unescaped(whole, 'plain')), resolved(unescaped(whole, 'all'))])
}

/** The normalized path (RFC 3986 §6.2.2): without unnecessary escapes, dots and double slashes. */
export const normalized = (path: string): string =>
  UNUSUAL.test(path) ? resolved(unescaped(escaped(path), 'plain')) : path

/** Overlong UTF-8 of ASCII characters, which lax decoders accept. */
const OVERLONG = /[\xc0\xc1][\x80-\xbf]|\xe0[\x80\x81][\x80-\xbf]|\xf0\x80[\x80\x81][\x80-\xbf]/g

const shortened = (text: string): string =>
  text.replaceAll(OVERLONG, bytes =>
    String.fromCharCode(
      ((bytes.charCodeAt(bytes.length - 2) & 1) << 6) | (bytes.charCodeAt(bytes.length - 1) & 0x3f),
    ),
  )

/** What services do to a path besides decoding, each some of it, in any order. */
const normalizationQuirks: readonly ((text: string) => string)[] = [
  text => text.replaceAll('\\', '/'),
  text => text.replaceAll(/;[^/]*/g, ''),
  // A late URL parser finds a query or a fragment, and C the end of the string.
  text => text.replace(/[?#\0][^]*$/, ''),
  shortened,
  resolved,
]

/** UTF-16 escapes of some servers; full-width ASCII becomes what it looks like. */
const unescapedWide = (text: string): string =>
  text.replaceAll(/%u([0-9a-f]{4})/gi, (_, hex: string) => {
    const code = Number.parseInt(hex, 16)
    return String.fromCharCode(code >= 0xff01 && code <= 0xff5e ? code - 0xfee0 : code)
  })

/** What only some services do, in addition. */
const rareQuirks: readonly ((text: string) => string)[] = [
  ...normalizationQuirks,
  // Some systems drop trailing characters of a name, so that it is that of another file.
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  text => text.replaceAll(/[\0-\x20\x7f.]+(?=\/|$)/g, ''),
  unescapedWide,
]

/**
 * Every interpretation of a path by a service: with escapes decoded once or several times, a backslash as a slash, path
 * parameters removed, dots resolved before or after. Nearly all paths have only one. Undefined: there are too many.
 */
export function pathInterpretations(path: string): readonly string[] | undefined {
  return SUSPECT.test(path) ? allInterpretations(path, normalizationQuirks) : [path]
}

/** The same for services that also drop trailing blanks and dots of names, or know other escapes. */
export function lenientInterpretations(path: string): readonly string[] | undefined {
  return LENIENTLY_SUSPECT.test(path) ? allInterpretations(path, rareQuirks) : [path]
}

function allInterpretations(path: string, known: Interpretations['quirks']): readonly string[] | undefined {
  const whole = escaped(path)
  const found: Interpretations = { texts: new Set(), most: MAX_WORK / whole.length, quirks: known }
  let newest = widened([whole], found)
  for (let undone = 0; undone < MAX_UNDOINGS && newest.length > 0; undone++) {
    const escapes = newest.filter(text => text.includes('%'))
    newest = widened(
      escapes.flatMap(text => [unescaped(text, 'all'), unescaped(text, 'plain')]),
      found,
    )
  }
  return found.texts.size > found.most ? undefined : [...found.texts]
}

interface Interpretations {
  readonly texts: Set<string>
  readonly most: number
  readonly quirks: readonly ((text: string) => string)[]
}

/** Adds texts and their variants; returns those that are new. */
function widened(texts: readonly string[], found: Interpretations): string[] {
  const added: string[] = []
  const waiting = [...texts]
  // It grows during the iteration.
  for (const text of waiting) {
    if (found.texts.has(text) || found.texts.size > found.most) continue
    found.texts.add(text)
    added.push(text)
    for (const quirk of found.quirks) waiting.push(quirk(text))
  }
  return added
}
