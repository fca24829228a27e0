import { canonicalAddress, parseRange } from '#base/addresses.ts'
import { fail } from '#base/errors.ts'
import { isId } from '#base/ids.ts'
import { hasPrefixOf, type Filter, type Kind } from '#contract/kind.ts'
import { listFilter } from '#contract/list-filter.ts'

const MAX_PAGE = 100

export interface ListRequest {
  readonly before?: string
  readonly limit: number
  /** Only rows with these values; times are as callers wrote them. */
  readonly filters?: Readonly<Record<string, string>>
  /** The compiled filter, and its text. */
  readonly filter?: { readonly text: string; readonly matches: (resource: unknown) => boolean }
}

/** The parameters of every list that has pages. */
export const PAGING: readonly string[] = ['before_id', 'limit', 'filter']

function pageSize(text: string): number {
  if (!/^[+-]?\d{1,9}$/.test(text)) return fail('page_size_number', { field: 'limit', value: text })
  const limit = Number(text)
  return limit >= 1 && limit <= MAX_PAGE ? limit : fail('page_size_range', { field: 'limit', value: text })
}

function cursor(id: string, kind: Kind): string {
  if (isId(id) && hasPrefixOf(kind, id)) return id
  return fail('id_prefix', { field: 'before_id', prefix: kind.prefix ?? '' })
}

/** Parses the query string; only the named parameters are allowed, each at most once. */
export function readQuery(
  query: string,
  supported: readonly string[],
  aliases: ReadonlyMap<string, string>,
): Map<string, string> {
  const values = new Map<string, string>()
  if (query === '') return values
  if (!isWellFormed(query))
    return fail('bad_query', { reason: 'a % is not followed by two hexadecimal digits' })
  // Only the first "?" starts the query: a second one would otherwise be lost.
  for (const [given, value] of new URLSearchParams(`?${query}`)) {
    const name = aliases.get(given) ?? given
    if (!supported.includes(name)) {
      fail('unknown_parameter', { field: name, supported: supported.join(', ') || 'none' })
    }
    if (values.has(name)) fail('repeated_parameter', { field: name })
    values.set(name, value)
  }
  return values
}

const isWellFormed = (query: string): boolean => !/%(?![0-9a-fA-F]{2})/.test(query)

/** As long as the URL of an endpoint, whose host name has up to 253 characters. */
const MAX_FILTER = 300

function listFilters(query: Map<string, string>, kind: Kind): Record<string, string> | undefined {
  const given = Object.entries(kind.filters ?? {}).flatMap(([name, filter]) => {
    const value = query.get(name)
    if (value === undefined) return []
    checkFilter(name, value, filter)
    return [[name, value] as const]
  })
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

/** The filters in the query of a URL that has nothing else. */
export function readFilters(
  filters: Readonly<Record<string, Filter>>,
  url: string,
): Readonly<Record<string, string>> {
  const start = url.indexOf('?')
  const given = readQuery(start < 0 ? '' : url.slice(start + 1), Object.keys(filters), new Map())
  for (const [name, value] of given) checkFilter(name, value, filters[name])
  return Object.fromEntries(given)
}

/** Rejects a value that a filter does not allow. */
function checkFilter(field: string, value: string, filter: Filter | undefined): void {
  const { list, moment, network, values } = filter ?? {}
  // The number of values is limited by the length of a request head.
  for (const each of list ? value.split(',') : [value])
    if (each === '' || each.length > MAX_FILTER) fail('filter_text', { field })
  if (moment && !isMoment(value)) fail('filter_moment', { field, value })
  if (network && !isNetwork(value)) fail('filter_network', { field, value })
  if (values && !new RegExp(`^(?:${values.pattern})$`).test(value))
    fail('filter_value', { field, value, example: values.example })
}

const isNetwork = (text: string): boolean => (canonicalAddress(text) ?? parseRange(text)) !== undefined

const isMoment = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(text) &&
  !Number.isNaN(Date.parse(text))

export function readPage(query: Map<string, string>, kind: Kind, now: number): ListRequest {
  // Clients that know the parameter may send it without a value.
  const text = query.get('filter') ?? ''
  const before = query.get('before_id')
  const filters = listFilters(query, kind)
  return {
    ...(filters && { filters }),
    ...(text !== '' && { filter: { text, matches: listFilter(text, kind.shape, now) } }),
    ...(before !== undefined && { before: cursor(before, kind) }),
    limit: pageSize(query.get('limit') ?? String(MAX_PAGE)),
  }
}
