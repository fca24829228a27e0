import type { TrafficField } from '#contract/events/traffic-fields.ts'
import type { Fields } from '#gateway/http/fields.ts'
import { headersText } from '#gateway/traffic/headers.ts'
import { momentText } from '#gateway/traffic/moments.ts'

/** What is known of a field before it is text. */
interface Values {
  readonly text: string
  readonly number: number
  readonly yes_no: boolean
  /** Milliseconds since 1970. */
  readonly moment: number
  readonly headers: Fields
  readonly lines: readonly string[]
}

const BRACE = 123

type Table = Readonly<Record<string, TrafficField>>

/** Where each field of a type of event comes from; undefined where its value is not known. */
export type Getters<Declared extends Table, Seen> = {
  readonly [Name in keyof Declared]: (seen: Seen) => Values[Declared[Name]['type']] | undefined
}

/** The JSON of what was seen, or an empty text where nothing of it is known. */
export type Write<Seen> = (seen: Seen) => string

const texts: { readonly [Type in keyof Values]: (value: Values[Type]) => string } = {
  text: value => JSON.stringify(value),
  number: String,
  yes_no: String,
  moment: value => `"${momentText(value)}"`,
  headers: headersText,
  lines: value => JSON.stringify(value),
}

/** Compiled once for a selection, because events are made for every request: it writes the JSON without an object. */
export function writerOf<Declared extends Table, Seen>(
  table: Declared,
  getters: Getters<Declared, Seen>,
  wanted: readonly (keyof Declared & string)[],
): Write<Seen> {
  const leaves = Object.keys(table)
    .filter(name => wanted.includes(name))
    .map((name): Leaf<Seen> => [name.split('.'), leafOf(table[name]?.type ?? 'text', getters[name])])
  const write = branchOf(leaves)
  return seen => {
    const text = write(seen)
    // To look into it makes one piece of the many that it was put together from: an event is kept for a while, and so
    // many small pieces would cost the collector of garbage as much as the event has cost to write.
    return text.charCodeAt(0) === BRACE ? text : '{}'
  }
}

type Leaf<Seen> = readonly [path: readonly string[], write: Write<Seen>]

function leafOf<Seen>(
  type: keyof Values,
  get: ((seen: Seen) => Values[keyof Values] | undefined) | undefined,
): Write<Seen> {
  // `Getters` says that what it gets is of this type.
  const text = texts[type] as (value: Values[keyof Values]) => string
  return seen => {
    const value = get?.(seen)
    return value === undefined ? '' : text(value)
  }
}

function branchOf<Seen>(leaves: readonly Leaf<Seen>[]): Write<Seen> {
  const groups = [...Map.groupBy(leaves, ([[name = '']]) => name)]
  const names = groups.map(([name]) => `${JSON.stringify(name)}:`)
  const members = groups.map(([, within]) => memberOf(within))
  return seen => {
    let text = ''
    for (let at = 0; at < members.length; at++) {
      const value = members[at]?.(seen) ?? ''
      if (value !== '') text += (text === '' ? '{' : ',') + (names[at] ?? '') + value
    }
    return text === '' ? '' : `${text}}`
  }
}

function memberOf<Seen>(within: readonly Leaf<Seen>[]): Write<Seen> {
  const [first] = within
  if (within.length === 1 && first?.[0].length === 1) return first[1]
  return branchOf(within.map(([[, ...rest], write]): Leaf<Seen> => [rest, write]))
}
