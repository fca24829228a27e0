/** Which route responds for which path. Written separately, so that it shares nothing with the tested code. */
export interface RouteSpec {
  readonly name: string
  /** Of a host alone; of all otherwise. */
  readonly host?: string
  readonly path: string
  readonly exact?: boolean
  /** The module in front of it, which rejects. */
  readonly guard?: 'ip_restriction' | 'user_agent_filter'
}

export type Decision =
  | { readonly kind: 'refused' }
  | { readonly kind: 'ambiguous' }
  | { readonly kind: 'nowhere' }
  | { readonly kind: 'routed'; readonly route: RouteSpec; readonly target: string }

const MOST_UNDOINGS = 3

/** The required decision for this target. */
export function decide(target: string, host: string, routes: readonly RouteSpec[]): Decision {
  const form = originForm(target, host)
  if (form === undefined) return { kind: 'refused' }
  const path = form.split('?')[0] ?? ''
  if (form.includes('%00') || isAboveRoot(path)) return { kind: 'refused' }
  const found = new Set<RouteSpec | undefined>()
  for (const meaning of meanings(path)) found.add(routeOf(meaning, host, routes))
  if (found.size > 1) return { kind: 'ambiguous' }
  const [route] = found
  return route === undefined ? { kind: 'nowhere' } : { kind: 'routed', route, target: form }
}

/** As it is sent on: "http://host/x" is the same as "/x". */
function originForm(target: string, host: string): string | undefined {
  for (const letter of target) if (letter <= ' ' || letter > '~' || '#\\'.includes(letter)) return undefined
  if (target.startsWith('/')) return target
  for (const scheme of ['http://', 'https://']) {
    if (!target.toLowerCase().startsWith(scheme)) continue
    const rest = target.slice(scheme.length)
    const end = rest.search(/[/?]/)
    const authority = end === -1 ? rest : rest.slice(0, end)
    if (authority.toLowerCase() !== host) return undefined
    const behind = end === -1 ? '' : rest.slice(end)
    return behind.startsWith('/') ? behind : `/${behind}`
  }
  return undefined
}

function isAboveRoot(path: string): boolean {
  const plain = path.replaceAll(/%2e/gi, '.').replaceAll(/%2f|%5c/gi, '/')
  let depth = 0
  for (const segment of plain.split('/').filter(each => each !== '' && each !== '.')) {
    depth += segment === '..' ? -1 : 1
    if (depth < 0) return true
  }
  return false
}

/** Everything that some service may take a path for. */
function meanings(path: string): Set<string> {
  const found = new Set<string>()
  const explore = (text: string, undoings: number): void => {
    const key = `${undoings} ${text}`
    if (seen.has(key)) return
    seen.add(key)
    found.add(text)
    for (const other of [slashes(text), withoutParameters(text), cut(text), normal(text), shortest(text)])
      explore(other, undoings)
    if (undoings === MOST_UNDOINGS) return
    explore(
      undone(text, () => true),
      undoings + 1,
    )
    explore(undone(text, isUnreserved), undoings + 1)
  }
  const seen = new Set<string>()
  explore(path, 0)
  return found
}

const slashes = (text: string): string => text.split('\\').join('/')

const withoutParameters = (text: string): string =>
  text
    .split('/')
    .map(segment => segment.split(';')[0])
    .join('/')

function cut(text: string): string {
  const end = text.search(/[\0?#]/)
  return end === -1 ? text : text.slice(0, end)
}

function normal(text: string): string {
  const [, ...segments] = text.split('/')
  const kept: string[] = []
  for (const segment of segments) {
    if (segment === '..') kept.pop()
    else if (segment !== '' && segment !== '.') kept.push(segment)
  }
  const last = segments.at(-1) ?? ''
  const isFolder = ['', '.', '..'].includes(last) && kept.length > 0
  return `/${kept.join('/')}${isFolder ? '/' : ''}`
}

/** Bytes that spell an ASCII character in more of them than it needs, as that character. */
function shortest(text: string): string {
  const bytes = Array.from(text, letter => letter.charCodeAt(0))
  let result = ''
  for (let at = 0; at < bytes.length; at++) {
    const lead = bytes[at] ?? 0
    const size = lead === 0xc0 || lead === 0xc1 ? 2 : lead === 0xe0 ? 3 : lead === 0xf0 ? 4 : 1
    const rest = bytes.slice(at + 1, at + size)
    const isTail = rest.length === size - 1 && rest.every(byte => byte >= 0x80 && byte <= 0xbf)
    const mask = [0, 0x7f, 0x1f, 0x0f, 0x07][size] ?? 0
    const value = rest.reduce((sum, byte) => sum * 64 + (byte & 0x3f), lead & mask)
    const isShort = size > 1 && isTail && value < 0x80
    result += String.fromCharCode(isShort ? value : lead)
    if (isShort) at += size - 1
  }
  return result
}

const isUnreserved = (letter: string): boolean => /^[\w.~-]$/.test(letter)

function undone(text: string, which: (letter: string) => boolean): string {
  let result = ''
  for (let at = 0; at < text.length; at++) {
    const digits = text.slice(at + 1, at + 3)
    const isEscape = text[at] === '%' && /^[0-9a-f]{2}$/i.test(digits)
    const letter = isEscape ? String.fromCharCode(Number(`0x${digits}`)) : ''
    if (isEscape && which(letter)) {
      result += letter
      at += 2
    } else result += text[at]
  }
  return result
}

/** The exact one first, then the longest; of equal ones that which names the host. */
function routeOf(path: string, host: string, routes: readonly RouteSpec[]): RouteSpec | undefined {
  const fits = (route: RouteSpec): boolean => {
    if (route.host !== undefined && route.host !== host) return false
    if (path === route.path) return true
    if (route.exact) return false
    return path.startsWith(route.path.endsWith('/') ? route.path : `${route.path}/`)
  }
  const weight = ({ exact, path: { length }, host: of }: RouteSpec): number =>
    (exact ? 1e6 : 0) + length * 2 + (of === undefined ? 0 : 1)
  return routes.filter(fits).toSorted((left, right) => weight(right) - weight(left))[0]
}
