import { isIPv6 } from 'node:net'
import { allIn, targetCharacters } from '#http/http1-characters.ts'
import { malformed, HttpError } from '#http/http-error.ts'

export const MAX_TARGET = 8192

const AUTHORITY = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[([0-9a-f:.]+)\])(?::(\d{1,5}))?$/i
const ABSOLUTE = /^https?:\/\/([^/?]*)/i
const HIDDEN = /%(?:2e|2f|5c)/gi
const plain: Readonly<Record<string, string>> = { '%2e': '.', '%2f': '/', '%5c': '/' }

// Clients request the same names again and again. If not, it is cleared rather than kept as an LRU.
const MAX_KNOWN = 4096
const known = new Map<string, string>()

/** The normalized host of an authority; undefined when it is invalid. */
export function hostOf(authority: string): string | undefined {
  const found = known.get(authority)
  if (found !== undefined) return found
  const host = readHost(authority)
  if (host === undefined) return undefined
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(authority, host)
  return host
}

function readHost(authority: string): string | undefined {
  if (authority.length > 263) return undefined
  const match = AUTHORITY.exec(authority)
  if (match === null) return undefined
  const [, address, port] = match
  if (address !== undefined && !isIPv6(address)) return undefined
  if (port !== undefined && (Number(port) === 0 || Number(port) > 65_535)) return undefined
  const name = port === undefined ? authority : authority.slice(0, -port.length - 1)
  return (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase()
}

/** The target of a request, in its forwarded form. */
interface RequestTarget {
  readonly target: string
  readonly path: string
}

/**
 * Checks the target of a request line against its Host. `isForwarded`: a service will interpret it, and may decode it
 * in another way.
 */
export function readTarget(
  target: string,
  method: string,
  authority: string,
  isForwarded = true,
): RequestTarget | HttpError {
  if (method === 'CONNECT' || (method === 'TRACE' && isForwarded))
    return malformed(`${method} is not served here`)
  if (target.length > MAX_TARGET) return new HttpError('target_too_long', { limit: MAX_TARGET })
  if (!allIn(targetCharacters, target, 0, target.length))
    return malformed('its target has a character that must be encoded')
  const pathOf = isForwarded ? checkedPath : split
  if (target.startsWith('/')) return pathOf(target)
  if (target === '*' && method === 'OPTIONS') return { target, path: target }
  const absolute = ABSOLUTE.exec(target)
  if (absolute?.[1] === undefined) return malformed('its target is not a path')
  if (absolute[1].toLowerCase() !== authority.toLowerCase())
    return malformed('its target and its Host name different places')
  const rest = target.slice(absolute[0].length)
  if (rest === '' && method === 'OPTIONS') return { target: '*', path: '*' }
  return pathOf(rest.startsWith('/') ? rest : `/${rest}`)
}

function split(target: string): RequestTarget {
  const query = target.indexOf('?')
  return { target, path: query < 0 ? target : target.slice(0, query) }
}

function checkedPath(target: string): RequestTarget | HttpError {
  const found = split(target)
  const { path } = found
  if (target.includes('%00')) return malformed('its target has an encoded NUL')
  if ((path.includes('%') || path.includes('..')) && climbs(path))
    return malformed('its path leads above the root')
  return found
}

/** Services differ in what they decode before they resolve "..", so the widest interpretation counts. */
function climbs(path: string): boolean {
  let depth = 0
  for (const segment of path.replace(HIDDEN, found => plain[found.toLowerCase()] ?? found).split('/')) {
    if (segment === '..') depth--
    else if (segment !== '' && segment !== '.') depth++
    if (depth < 0) return true
  }
  return false
}
