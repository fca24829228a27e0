import { covers } from '#base/hosts.ts'
import type { CompiledEndpoint } from '#gateway/routing/compiler.ts'
import type { CacheEntry } from '#gateway/routing/dependency-cache.ts'
import { lenientInterpretations, pathInterpretations, equivalentPaths } from '#gateway/routing/paths.ts'
import { textOf } from '#registry/records/keys.ts'
import type { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'
import type { RowOf } from '#registry/records/source.ts'

/** A route of an HTTPS edge. */
export type RouteRow = RowOf<typeof httpsEdgeRoute>

/** A route, and what it matches. */
export interface MatchedRoute {
  readonly row: RouteRow
  /** Undefined: any. */
  readonly host: string | undefined
  /** Kept here, because with many routes reading its row for each request is slow. */
  readonly normalizes: boolean
  /** What handles its requests, set when it is compiled. */
  endpoint: CacheEntry<CompiledEndpoint> | undefined
}

/** The routes with the same path, those that name a host first, wildcards last. Most paths have only one. */
type Matches = MatchedRoute | readonly MatchedRoute[]

const listOf = (matches: Matches | undefined): readonly MatchedRoute[] =>
  matches === undefined ? [] : 'row' in matches ? [matches] : matches

const rank = ({ host }: MatchedRoute): number => (host === undefined ? 2 : host.startsWith('*.') ? 1 : 0)

const isAt = (match: MatchedRoute, host: string): boolean =>
  match.host === undefined || covers(match.host, host)

function pick(matches: Matches | undefined, host: string): MatchedRoute | undefined {
  if (matches === undefined) return undefined
  if ('row' in matches) return isAt(matches, host) ? matches : undefined
  return matches.find(match => isAt(match, host))
}

type Places = Map<string, Matches>

/** Rows of releases without the option lack it. */
export const isNormalizing = ({ body }: RouteRow): boolean => body.normalize_path === true

/** The host of a route's match; undefined: any. */
export function hostOf(row: RouteRow): string | undefined {
  const text = textOf(row, 'match')
  const slash = text.indexOf('/')
  const host = slash === -1 ? text : text.slice(0, slash)
  return host === '' ? undefined : host
}

function put(places: Places, path: string, match: MatchedRoute): void {
  const matches = [...listOf(places.get(path)), match]
  places.set(path, matches.length === 1 ? match : matches.toSorted((left, right) => rank(left) - rank(right)))
}

/** The routes of an edge, by path: the lookup time does not grow with their number. */
export class Routes {
  /** Whether one of them normalizes paths. */
  readonly normalizes: boolean
  /** Undefined: there are none. */
  readonly #exact: Places | undefined
  readonly #prefixes: Places = new Map()
  /** Exact paths with the opposite trailing slash; undefined: there are none. */
  readonly #slashed: Places | undefined

  constructor(rows: readonly RouteRow[]) {
    this.normalizes = rows.some(isNormalizing)
    const exact: Places = new Map()
    const slashed: Places = new Map()
    for (const row of rows) {
      const text = textOf(row, 'match')
      const slash = text.indexOf('/')
      const isExact = row.body.match_type === 'exact_path'
      const normalizes = isNormalizing(row)
      const match = { row, host: hostOf(row), normalizes, endpoint: undefined }
      for (const path of equivalentPaths(slash === -1 ? '/' : text.slice(slash))) {
        put(isExact ? exact : this.#prefixes, path, match)
        if (isExact && normalizes && path !== '/')
          put(slashed, path.endsWith('/') ? path.slice(0, -1) : `${path}/`, match)
      }
    }
    this.#exact = exact.size === 0 ? undefined : exact
    this.#slashed = slashed.size === 0 ? undefined : slashed
  }

  /**
   * The route for a path: exact ones first, then the longest prefix. All interpretations of a path must match one
   * route, or one route could be used to reach what another one protects. `normal` is the normalized path: routes that
   * normalize are compared with that, and others match only if both forms do.
   */
  find(host: string, path: string, normal: string): MatchedRoute | 'ambiguous' | undefined {
    if (!this.normalizes) return this.#findAll(host, pathInterpretations(path))
    const found = this.#findAll(host, lenientInterpretations(normal))
    if (found === 'ambiguous' || found?.normalizes === true) return found
    return this.#findAll(host, pathInterpretations(path)) === found ? found : 'ambiguous'
  }

  #findAll(host: string, all: readonly string[] | undefined): MatchedRoute | 'ambiguous' | undefined {
    if (all === undefined) return 'ambiguous'
    const [first = '', ...others] = all
    const found = this.#find(host, first)
    return others.every(other => this.#find(host, other) === found) ? found : 'ambiguous'
  }

  #find(host: string, path: string): MatchedRoute | undefined {
    const exact = pick(this.#exact?.get(path), host)
    if (exact !== undefined) return exact
    if (this.#slashed !== undefined) {
      const found = pick(this.#prefixes.get(path), host) ?? pick(this.#slashed.get(path), host)
      if (found !== undefined) return found
    }
    // A prefix ends at a segment boundary: "/a/b" is tried as itself, then "/a/", "/a", "/".
    for (let prefix = path; ;) {
      const found = pick(this.#prefixes.get(prefix), host)
      if (found !== undefined || prefix === '/' || prefix === '') return found
      const slash = prefix.lastIndexOf('/', prefix.length - 2)
      prefix = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix.slice(0, slash + 1)
    }
  }
}
