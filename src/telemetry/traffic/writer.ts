import type { TrafficField } from '#contract/events/traffic-fields.ts'
import type { Fields } from '#http/fields.ts'
import { headersText } from '#telemetry/traffic/headers.ts'
import { rfc3339 } from '#telemetry/traffic/time.ts'

/** The value of a field before serialization. */
interface Values {
  readonly text: string
  readonly number: number
  readonly yes_no: boolean
  /** Milliseconds since 1970. */
  readonly moment: number
  readonly headers: Fields
  readonly lines: readonly string[]
}

type Table = Readonly<Record<string, TrafficField>>

/** The getter of each field of an event type; undefined for an unknown value. */
export type Getters<Declared extends Table, Seen> = {
  readonly [Name in keyof Declared]: (seen: Seen) => Values[Declared[Name]['type']] | undefined
}

/** Appends a record to a text, as a JSON object. */
export type WriteFields<Seen> = (seen: Seen, text: string) => string

interface Leaf<Seen> {
  readonly path: readonly string[]
  readonly get: (seen: Seen) => Values[keyof Values] | undefined
  /** Its JSON value, without the quotes. */
  readonly text: (value: Values[keyof Values]) => string
  readonly quote: '"' | ''
  /** Often the same as in the last request of the connection. */
  readonly isAlike: boolean
}

/** Cached characters per connection and run of fields. */
const MAX_KEPT = 1024
const NEEDS_ESCAPE = /[^ !#-[\]-~]/

const texts: { readonly [Type in keyof Values]: (value: Values[Type]) => string } = {
  text: value => (NEEDS_ESCAPE.test(value) ? JSON.stringify(value).slice(1, -1) : value),
  number: String,
  yes_no: String,
  moment: rfc3339,
  headers: headersText,
  lines: value => JSON.stringify(value),
}

const alikeTypes: ReadonlySet<keyof Values> = new Set(['text', 'number', 'yes_no'])

const quotes = { text: '"', number: '', yes_no: '', moment: '"', headers: '', lines: '' } as const

/** The cached text of some fields: valid for all requests in which they, and the text before, are the same. */
interface Written {
  readonly values: readonly unknown[]
  readonly before: number
  readonly text: string
  readonly last: number
}

/**
 * Compiled once per selection, because events are created for every request. Fields have a fixed order, so the text
 * between two consecutive values is known in advance, even if some are absent. Requests of one connection are much alike,
 * so unchanged text is reused: `owner` groups them.
 */
export function writerOf<Declared extends Table, Seen>(
  table: Declared,
  getters: Getters<Declared, Seen>,
  wanted: readonly (keyof Declared & string)[],
  owner?: (seen: Seen) => object,
): WriteFields<Seen> {
  const names = Object.keys(table).filter(name => wanted.includes(name))
  const leaves = inGroups(names.map(name => name.split('.'))).map((path): Leaf<Seen> => {
    const name = path.join('.')
    return leafOf(path, table[name]?.type ?? 'text', getters[name])
  })
  // The row before the first is for the first field.
  const between = [undefined, ...leaves].map(from => leaves.map(to => textBetween(from, to)))
  const closings = [undefined, ...leaves].map(endAfter)
  const known = new WeakMap<object, Written[]>()
  const values: unknown[] = leaves.map(() => undefined)

  /** The fields of a run as text, after the one at `before`. */
  function written({ from, to }: Run, before: number): Written {
    const ends: number[] = []
    let text = ''
    let last = before
    for (let at = from; at < to; at++) {
      const value = values[at]
      if (value === undefined) continue
      const shown = leaves[at]?.text(value as Values[keyof Values]) ?? ''
      text += between[last]?.[at]
      text += shown
      if (shown === value) ends[at - from] = text.length
      last = at + 1
    }
    // Reading it flattens the rope.
    text.charCodeAt(0)
    // Header texts are slices of whole heads, which must not be retained by every connection: cached ones are slices of
    // this text. One with escapes is not found in it, and never reused.
    const kept = values.slice(from, to).map((value, at) => {
      if (typeof value !== 'string') return value
      const end = ends[at]
      return end === undefined ? Number.NaN : text.slice(end - value.length, end)
    })
    return { values: kept, before, text, last }
  }

  function writtenFor(key: object): Written[] {
    const there = known.get(key)
    if (there !== undefined) return there
    const none: Written[] = []
    known.set(key, none)
    return none
  }

  const runs = runsOf(leaves.map(({ isAlike }) => isAlike && owner !== undefined))
  return (seen, start) => {
    const earlier = owner === undefined ? [] : writtenFor(owner(seen))
    let text = start
    let last = 0
    for (let index = 0; index < runs.length; index++) {
      const run = runs[index] as Run
      const before = earlier[index]
      let isSame = run.isAlike && before?.before === last
      for (let at = run.from; at < run.to; at++) {
        const value = leaves[at]?.get(seen)
        values[at] = value
        if (isSame && before?.values[at - run.from] !== value) isSame = false
      }
      if (isSame && before !== undefined) {
        text += before.text
        last = before.last
      } else if (run.isAlike) {
        const fresh = written(run, last)
        if (fresh.text.length <= MAX_KEPT) earlier[index] = fresh
        text += fresh.text
        last = fresh.last
      } else if (values[run.from] !== undefined) {
        text += between[last]?.[run.from]
        text += leaves[run.from]?.text(values[run.from] as Values[keyof Values])
        last = run.to
      }
    }
    return text + (closings[last] ?? '')
  }
}

/** Consecutive fields that are alike in many requests, or a single one that is not. */
interface Run {
  readonly from: number
  readonly to: number
  readonly isAlike: boolean
}

function runsOf(alike: readonly boolean[]): Run[] {
  const runs: Run[] = []
  for (let from = 0; from < alike.length;) {
    const isAlike = alike[from] ?? false
    let to = from + 1
    while (isAlike && alike[to]) to++
    runs.push({ from, to, isAlike })
    from = to
  }
  return runs
}

/** In the given order, but members of one object together. */
function inGroups(paths: readonly (readonly string[])[], depth = 0): (readonly string[])[] {
  return [...Map.groupBy(paths, path => path[depth])].flatMap(([, within]) =>
    within.length === 1 ? within : inGroups(within, depth + 1),
  )
}

function leafOf<Seen>(
  path: readonly string[],
  type: keyof Values,
  get: ((seen: Seen) => Values[keyof Values] | undefined) | undefined,
): Leaf<Seen> {
  return {
    path,
    get: get ?? (() => undefined),
    // `Getters` guarantees this type.
    text: texts[type] as Leaf<Seen>['text'],
    quote: quotes[type],
    isAlike: alikeTypes.has(type),
  }
}

/** Closes the objects that only the first is in, and opens those of the second. */
function textBetween<Seen>(from: Leaf<Seen> | undefined, to: Leaf<Seen>): string {
  const names = (path: readonly string[]): string => path.map(name => `${JSON.stringify(name)}:`).join('{')
  if (from === undefined) return `{${names(to.path)}${to.quote}`
  const shared = from.path.findIndex((name, depth) => name !== to.path[depth])
  const ended = '}'.repeat(from.path.length - 1 - shared)
  return `${from.quote}${ended},${names(to.path.slice(shared))}${to.quote}`
}

const endAfter = <Seen>(last: Leaf<Seen> | undefined): string =>
  last === undefined ? '{}' : last.quote + '}'.repeat(last.path.length)
