import { covers } from '#base/hosts.ts'
import { readings, spellings } from '#gateway/plan/paths.ts'
import { textOf } from '#gateway/records/keys.ts'
import type { SourceRow } from '#gateway/records/source.ts'

interface Match {
  readonly row: SourceRow
  /** Undefined: any. */
  readonly host: string | undefined
}

/** The routes that have one path in common, those that name a host first, and of these wildcards last. */
type Matches = readonly Match[]

const rank = ({ host }: Match): number => (host === undefined ? 2 : host.startsWith('*.') ? 1 : 0)

const pick = (matches: Matches | undefined, host: string): SourceRow | undefined =>
  matches?.find(match => match.host === undefined || covers(match.host, host))?.row

/** The routes of an edge, found by their paths: the time does not grow with their number. */
export class Routes {
  readonly #exact = new Map<string, Matches>()
  readonly #prefixes = new Map<string, Matches>()

  constructor(rows: readonly SourceRow[]) {
    for (const row of rows) {
      const text = textOf(row, 'match')
      const slash = text.indexOf('/')
      const host = slash === -1 ? text : text.slice(0, slash)
      const places = row.body['match_type'] === 'exact_path' ? this.#exact : this.#prefixes
      const match = { row, host: host === '' ? undefined : host }
      for (const path of spellings(slash === -1 ? '/' : text.slice(slash))) {
        const matches = [...(places.get(path) ?? []), match]
        places.set(
          path,
          matches.toSorted((left, right) => rank(left) - rank(right)),
        )
      }
    }
  }

  /**
   * The route that answers for a path, exact ones first, then the longest prefix. A path that services could
   * understand in several ways must lead to one route in all of them, or what one route guards could be reached by
   * way of another.
   */
  find(host: string, path: string): SourceRow | 'ambiguous' | undefined {
    const all = readings(path)
    if (all === undefined) return 'ambiguous'
    const [first = path, ...others] = all
    const found = this.#find(host, first)
    return others.every(other => this.#find(host, other) === found) ? found : 'ambiguous'
  }

  #find(host: string, path: string): SourceRow | undefined {
    const exact = this.#exact.size === 0 ? undefined : pick(this.#exact.get(path), host)
    if (exact !== undefined) return exact
    // A prefix ends where a segment does: "/a/b" is tried as itself, then "/a/", "/a", "/".
    for (let prefix = path; ;) {
      const found = pick(this.#prefixes.get(prefix), host)
      if (found !== undefined || prefix === '/' || prefix === '') return found
      const slash = prefix.lastIndexOf('/', prefix.length - 2)
      prefix = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix.slice(0, slash + 1)
    }
  }
}
