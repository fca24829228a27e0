import { covers } from '#base/hosts.ts'
import { textOf } from '#gateway/records/keys.ts'
import type { SourceRow } from '#gateway/records/source.ts'

interface Match {
  readonly row: SourceRow
  /** Undefined: any. */
  readonly host: string | undefined
  readonly path: string
  readonly exact: boolean
}

/**
 * The path as it is compared: with escapes of plain characters undone and dots resolved. Otherwise `/%61dmin` or
 * `/x/../admin` would reach what the route of `/admin` protects by way of another route.
 */
export function comparedPath(path: string): string {
  if (!/%|\/\.|\/\//.test(path)) return path
  const plain = path.replaceAll(/%([0-9a-f]{2})/gi, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    return /[\w.~-]/.test(character) ? character : escape.toUpperCase()
  })
  const kept: string[] = []
  const segments = plain.split('/').slice(1)
  for (const [at, segment] of segments.entries()) {
    const isLast = at === segments.length - 1
    if (segment === '..') kept.pop()
    // Services merge doubled slashes, too.
    else if (segment !== '.' && (segment !== '' || isLast)) kept.push(segment)
    if (isLast && (segment === '..' || segment === '.')) kept.push('')
  }
  return `/${kept.join('/')}`
}

function matchOf(row: SourceRow): Match {
  const text = textOf(row, 'match')
  const slash = text.indexOf('/')
  const host = slash === -1 ? text : text.slice(0, slash)
  return {
    row,
    host: host === '' ? undefined : host,
    path: slash === -1 ? '/' : comparedPath(text.slice(slash)),
    exact: row.body['match_type'] === 'exact_path',
  }
}

const isPrefix = (prefix: string, path: string): boolean =>
  path.startsWith(prefix) &&
  (prefix.endsWith('/') || path.length === prefix.length || path[prefix.length] === '/')

/** Exact paths first, then the longest prefix, then those that name a host. */
const byPrecedence = (left: Match, right: Match): number =>
  Number(right.exact) - Number(left.exact) ||
  right.path.length - left.path.length ||
  Number(right.host !== undefined) - Number(left.host !== undefined) ||
  Number(left.host?.startsWith('*.') ?? false) - Number(right.host?.startsWith('*.') ?? false)

/** The routes of an edge, in the order in which they are tried. */
export class Routes {
  readonly #matches: readonly Match[]

  constructor(rows: readonly SourceRow[]) {
    this.#matches = rows.map(matchOf).toSorted(byPrecedence)
  }

  find(host: string, path: string): SourceRow | undefined {
    const compared = comparedPath(path)
    return this.#matches.find(
      match =>
        (match.exact ? match.path === compared : isPrefix(match.path, compared)) &&
        (match.host === undefined || covers(match.host, host)),
    )?.row
  }
}
