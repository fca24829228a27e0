import { Problem } from '#base/errors.ts'
import { fieldNames } from '#contract/events/field-names.ts'
import { eventFilter, valueAt, type EventFilter } from '#contract/events/filter.ts'
import type { EventSource } from '#contract/events/source.ts'
import { isTrafficType, usualFields, type TrafficType } from '#contract/events/traffic-fields.ts'

/** What one source of a subscription wants of the events of its type. */
export interface Selection {
  readonly type: string
  /** The fields that gateways must tell: those sent, and those the filter asks for. None for types told whole. */
  readonly needs: ReadonlySet<string>
  /** Whether every event that has no other fields than these is sent, and whole. */
  takesAll(fields: readonly string[]): boolean
  /** An event as this source is sent it; undefined where the filter says no. */
  apply(body: string): string | undefined
}

type Tree = Record<string, unknown>

export function selectionOf({ type, fields, filter }: EventSource): Selection {
  if (!isTrafficType(type)) return { type, needs: new Set(), takesAll: () => true, apply: body => body }
  const chosen = new Set(fields ?? usualFields(type))
  const wanted = filter === undefined ? undefined : keptFilter(type, filter)
  const holdsOthers = searchFor(fieldNames(type).filter(name => !chosen.has(name)))
  const reduce = reducer([...chosen])
  return {
    type,
    needs: new Set([...chosen, ...(wanted?.fields ?? [])]),
    takesAll: wanted === undefined ? latest(names => names.every(name => chosen.has(name))) : () => false,
    apply(body) {
      const isMore = holdsOthers(body)
      if (!isMore && !wanted) return body
      const event = JSON.parse(body) as Tree
      if (wanted && !wanted.matches(event['object'])) return undefined
      return isMore ? JSON.stringify({ ...event, object: reduce(event['object']) }) : body
    },
  }
}

/** A filter that was kept by a version that knew more is one that nothing matches: it must not let everything pass. */
function keptFilter(type: TrafficType, filter: string): EventFilter {
  try {
    return eventFilter(type, filter)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { fields: new Set(), matches: () => false }
  }
}

/** Remembers the latest answer: many events are asked about that share the list of their fields. */
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
 * Whether an event may hold one of these fields, by their last names and without parsing: JSON writes a name in quotes,
 * so that what is not found is not there. As a gateway tells what any subscription asks for, an event often holds more
 * than one of them wants, and as often nothing more.
 */
function searchFor(names: readonly string[]): (body: string) => boolean {
  const lasts = [...new Set(names.map(name => name.slice(name.lastIndexOf('.') + 1)))]
  // There are so many quotes that a search which stops at each is eight times as slow: only what ends so is looked at.
  const searched = lasts.map(last => ({ end: `${last}":`, whole: `"${last}":` }))
  return body => searched.some(({ end, whole }) => body.includes(end) && body.includes(whole))
}

/** Keeps of an object only what lies at these dotted names. */
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
