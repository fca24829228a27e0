/**
 * Evaluation of filters. A part that needs an unknown value is unknown itself; only `&&` and `||` can decide without
 * it, as CEL defines for errors. So evaluation never throws.
 */

/** Undefined where a filter needs a value that an event lacks. */
export type EventFilterValue = string | number | boolean | undefined

/** A compiled part of a filter: returns its value for the `object` of an event. */
export type EventFilterPart = (object: unknown) => EventFilterValue

export const equality =
  (isEqual: boolean, left: EventFilterPart, right: EventFilterPart): EventFilterPart =>
  object => {
    const one = left(object)
    const other = right(object)
    return one === undefined || other === undefined ? undefined : (one === other) === isEqual
  }

const orders = {
  '<': (one: string | number, other: string | number) => one < other,
  '<=': (one: string | number, other: string | number) => one <= other,
  '>': (one: string | number, other: string | number) => one > other,
  '>=': (one: string | number, other: string | number) => one >= other,
}

export function comparison(
  sign: keyof typeof orders,
  left: EventFilterPart,
  right: EventFilterPart,
): EventFilterPart {
  const isInOrder = orders[sign]
  return object => {
    const one = left(object)
    const other = right(object)
    if (one === undefined || other === undefined) return undefined
    // Booleans are ordered too: false comes first.
    return isInOrder(
      typeof one === 'boolean' ? Number(one) : one,
      typeof other === 'boolean' ? Number(other) : other,
    )
  }
}

/** `||` is decided by the first true, `&&` by the first false. */
export const decision =
  (decisive: boolean, left: EventFilterPart, right: EventFilterPart): EventFilterPart =>
  object => {
    const one = left(object)
    if (one === decisive) return decisive
    const other = right(object)
    if (other === decisive) return decisive
    return one === undefined ? undefined : other
  }

export const negation =
  (part: EventFilterPart): EventFilterPart =>
  object => {
    const value = part(object)
    return typeof value === 'boolean' ? !value : undefined
  }

export const negative =
  (part: EventFilterPart): EventFilterPart =>
  object => {
    const value = part(object)
    return typeof value === 'number' ? -value : undefined
  }

export const choice =
  (condition: EventFilterPart, one: EventFilterPart, other: EventFilterPart): EventFilterPart =>
  object => {
    const value = condition(object)
    if (value === undefined) return undefined
    return value === true ? one(object) : other(object)
  }

export const membership =
  (part: EventFilterPart, values: ReadonlySet<EventFilterValue>): EventFilterPart =>
  object => {
    const value = part(object)
    return value === undefined ? undefined : values.has(value)
  }

export const presence =
  (part: EventFilterPart): EventFilterPart =>
  object =>
    part(object) !== undefined

/** Counts characters, not UTF-16 code units. */
export const size =
  (part: EventFilterPart): EventFilterPart =>
  object => {
    const text = part(object)
    return typeof text === 'string' ? Array.from(text).length : undefined
  }

/** String functions with a string argument. */
export const questions: Readonly<Record<string, (text: string, other: string) => boolean>> = {
  startsWith: (text, other) => text.startsWith(other),
  endsWith: (text, other) => text.endsWith(other),
  contains: (text, other) => text.includes(other),
}

export const question =
  (
    answer: (text: string, other: string) => boolean,
    left: EventFilterPart,
    right: EventFilterPart,
  ): EventFilterPart =>
  object => {
    const text = left(object)
    const other = right(object)
    return typeof text === 'string' && typeof other === 'string' ? answer(text, other) : undefined
  }

/** Longer texts than `limit` are not matched: their sender could make that slow. */
export const matching =
  (part: EventFilterPart, pattern: { test(text: string): boolean }, limit: number): EventFilterPart =>
  object => {
    const text = part(object)
    return typeof text === 'string' && text.length <= limit ? pattern.test(text) : undefined
  }
