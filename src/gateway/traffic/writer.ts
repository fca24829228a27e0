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

type Table = Readonly<Record<string, TrafficField>>

/** Where each field of a type of event comes from; undefined where its value is not known. */
export type Getters<Declared extends Table, Seen> = {
  readonly [Name in keyof Declared]: (seen: Seen) => Values[Declared[Name]['type']] | undefined
}

/** Appends what was seen to a text, as an object of JSON. */
export type Write<Seen> = (seen: Seen, text: string) => string

interface Leaf<Seen> {
  readonly path: readonly string[]
  readonly get: (seen: Seen) => Values[keyof Values] | undefined
  /** Its value as JSON, without the quotes where it is in quotes. */
  readonly text: (value: Values[keyof Values]) => string
  readonly quote: '"' | ''
}

const NEEDS_ESCAPE = /[^ !#-[\]-~]/

const texts: { readonly [Type in keyof Values]: (value: Values[Type]) => string } = {
  text: value => (NEEDS_ESCAPE.test(value) ? JSON.stringify(value).slice(1, -1) : value),
  number: String,
  yes_no: String,
  moment: momentText,
  headers: headersText,
  lines: value => JSON.stringify(value),
}

const quotes = { text: '"', number: '', yes_no: '', moment: '"', headers: '', lines: '' } as const

/**
 * Compiled once for a selection, because events are made for every request. They come in one order, so
 * what stands between two values that follow each other is known beforehand, whichever are left out: that leaves two
 * pieces of text to append for each value.
 */
export function writerOf<Declared extends Table, Seen>(
  table: Declared,
  getters: Getters<Declared, Seen>,
  wanted: readonly (keyof Declared & string)[],
): Write<Seen> {
  const names = Object.keys(table).filter(name => wanted.includes(name))
  const leaves = inGroups(names.map(name => name.split('.'))).map((path): Leaf<Seen> => {
    const name = path.join('.')
    return leafOf(path, table[name]?.type ?? 'text', getters[name])
  })
  // The row before the first is for what nothing stands before.
  const between = [undefined, ...leaves].map(from => leaves.map(to => textBetween(from, to)))
  const ends = [undefined, ...leaves].map(endAfter)
  const gets = leaves.map(({ get }) => get)
  const toText = leaves.map(({ text }) => text)
  return (seen, before) => {
    let text = before
    let last = 0
    for (let at = 0; at < gets.length; at++) {
      const value = gets[at]?.(seen)
      if (value === undefined) continue
      text += between[last]?.[at]
      text += toText[at]?.(value)
      last = at + 1
    }
    return text + (ends[last] ?? '')
  }
}

/** In the given order, but members of one object one behind the other. */
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
    // `Getters` says that what it gets is of this type.
    text: texts[type] as Leaf<Seen>['text'],
    quote: quotes[type],
  }
}

/** Ends the objects that only the one is in, and begins those that only the other is in. */
function textBetween<Seen>(from: Leaf<Seen> | undefined, to: Leaf<Seen>): string {
  const names = (path: readonly string[]): string => path.map(name => `${JSON.stringify(name)}:`).join('{')
  if (from === undefined) return `{${names(to.path)}${to.quote}`
  const shared = from.path.findIndex((name, depth) => name !== to.path[depth])
  const ended = '}'.repeat(from.path.length - 1 - shared)
  return `${from.quote}${ended},${names(to.path.slice(shared))}${to.quote}`
}

const endAfter = <Seen>(last: Leaf<Seen> | undefined): string =>
  last === undefined ? '{}' : last.quote + '}'.repeat(last.path.length)
