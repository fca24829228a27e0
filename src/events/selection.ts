import { Problem } from '#base/errors.ts'
import { fieldNames } from '#contract/events/field-names.ts'
import { eventFilter, valueAt, type EventFilter } from '#contract/events/filter.ts'
import type { EventSource } from '#contract/events/source.ts'
import { isTrafficType, usualFields, type TrafficType } from '#contract/events/traffic-fields.ts'

/** The selection of one source of a subscription. */
export interface Selection {
  readonly type: string
  /**
   * The fields that gateways must record: those sent, and those of the filter. None for types without selectable
   * fields.
   */
  readonly requiredFields: ReadonlySet<string>
  /** Whether every event without other fields than these is sent, unchanged. */
  matchesAll(fields: readonly string[]): boolean
  /** The event for this source; undefined if the filter rejects it. */
  apply(body: string): string | undefined
}

type Tree = Record<string, unknown>

export function selectionOf({ type, fields, filter }: EventSource): Selection {
  if (!isTrafficType(type))
    return { type, requiredFields: new Set(), matchesAll: () => true, apply: body => body }
  const chosen = new Set(fields ?? usualFields(type))
  const wanted = filter === undefined ? undefined : keptFilter(type, filter)
  const holdsOthers = searchFor(fieldNames(type).filter(name => !chosen.has(name)))
  const reduce = reducer([...chosen])
  return {
    type,
    requiredFields: new Set([...chosen, ...(wanted?.fields ?? [])]),
    matchesAll: wanted === undefined ? latest(names => names.every(name => chosen.has(name))) : () => false,
    apply(body) {
      const isMore = holdsOthers(body)
      if (!isMore && !wanted) return body
      const event = JSON.parse(body) as Tree
      if (wanted && !wanted.matches(event['object'])) return undefined
      return isMore ? JSON.stringify({ ...event, object: reduce(event['object']) }) : body
    },
  }
}

/** A filter of a newer release matches nothing: it must not match everything. */
function keptFilter(type: TrafficType, filter: string): EventFilter {
  try {
    return eventFilter(type, filter)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { fields: new Set(), matches: () => false }
  }
}

/** Caches the latest result: many events share their list of fields. */
function latest(isSo: (names: readonly string[]) => boolean): (names: readonly string[]) => boolean {
  let asked: readonly string[] | undefined
  let answer = false
  return names => {
    if (names !== asked) {
      answer = isSo(names)
      asked = names
    }
    return answer
  }
}

/**
 * Whether an event may contain one of these fields, by their last names and without parsing: JSON quotes names, so what
 * is not found is absent. Gateways record what any subscription selects, so an event often has more fields than one of
 * them needs, and as often not.
 */
function searchFor(names: readonly string[]): (body: string) => boolean {
  const lasts = [...new Set(names.map(name => name.slice(name.lastIndexOf('.') + 1)))]
  // There are so many quotes that stopping at each is eight times as slow: only matching ends are checked.
  const searched = lasts.map(last => ({ end: `${last}":`, whole: `"${last}":` }))
  return body => searched.some(({ end, whole }) => body.includes(end) && body.includes(whole))
}

/** Keeps only these dotted names of an object. */
function reducer(names: readonly string[]): (object: unknown) => Tree {
  const plan = names.map(name => {
    const groups = name.split('.')
    return { read: valueAt(name), last: groups.pop() ?? name, groups }
  })
  return object => {
    const kept: Tree = {}
    for (const { read, last, groups } of plan) {
      const value = read(object)
      if (value === undefined) continue
      let tree = kept
      for (const group of groups) tree = (tree[group] ??= {}) as Tree
      tree[last] = value
    }
    return kept
  }
}
