const SUSPECT = /[%\\;]|\/\.|\/\//
const MAX_UNDOINGS = 3

/** The path with dots resolved and doubled slashes as one, as most services see it. */
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

/** Escapes undone: of plain characters only, or of all. */
function unescaped(path: string, which: 'plain' | 'all'): string {
  return path.replaceAll(/%([0-9a-f]{2})/gi, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    return which === 'all' || /[\w.~-]/.test(character) ? character : escape.toUpperCase()
  })
}

/** What cannot stand in a path as it is, as escapes; those that are there in upper case, which means the same. */
const escaped = (path: string): string =>
  path
    .replaceAll(/[^\x21-\x7e]+/g, text => encodeURIComponent(text.toWellFormed()))
    .replaceAll(/%[0-9a-f]{2}/gi, escape => escape.toUpperCase())

/** How a path may be written: with its escapes, without those that are not needed, without any. */
export function spellings(path: string): ReadonlySet<string> {
  const whole = escaped(path)
  return new Set([whole, resolved(unescaped(whole, 'plain')), resolved(unescaped(whole, 'all'))])
}

/**
 * Every way in which a service may understand a path: with escapes undone once or several times, a backslash taken
 * for a slash, what follows a semicolon left out, dots resolved before or after. A path that can be understood in
 * one way only, as nearly all, is the only one in the list.
 */
export function readings(path: string): readonly string[] {
  if (!SUSPECT.test(path)) return [path]
  const whole = escaped(path)
  const found = new Set([...spellings(whole), resolved(whole), ...loose(whole)])
  let text = whole
  for (let undone = 0; undone < MAX_UNDOINGS && text.includes('%'); undone++) {
    text = unescaped(text, 'all')
    for (const reading of loose(text)) found.add(reading)
  }
  return [...found]
}

function loose(text: string): string[] {
  const slashed = text.replaceAll('\\', '/')
  const bare = slashed.replaceAll(/;[^/]*/g, '')
  return [slashed, bare, resolved(slashed), resolved(bare)]
}
