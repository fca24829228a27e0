/** The values that a list filter compares. Undefined: undecidable for this resource. */

/** A time in milliseconds. */
export class Instant {
  readonly at: number

  constructor(at: number) {
    this.at = at
  }
}

export type ListFilterValue = string | number | boolean | null | Instant | readonly unknown[] | undefined
export type ListFilterPart = (resource: unknown) => ListFilterValue

/** A value of a resource as a filter sees it: objects can only be compared with null. */
export function valueOf(found: unknown): ListFilterValue {
  if (found === undefined || found === null) return null
  if (Array.isArray(found)) return found
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean'
    ? found
    : undefined
}

/** Resources have times as strings. */
const comparable = (value: ListFilterValue, other: ListFilterValue): ListFilterValue => {
  if (value instanceof Instant) return value.at
  return other instanceof Instant && typeof value === 'string' ? momentOf(value)?.at : value
}

export function momentOf(text: string): Instant | undefined {
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : new Instant(at)
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A duration such as "90m" in milliseconds. */
export function durationOf(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const size = UNITS[unit]
  return size === undefined ? undefined : Number(count) * size
}

/** Only null and set objects can be distinguished. */
export const isEqual = (one: ListFilterValue, other: ListFilterValue): boolean => {
  if (one === null || other === null) return one === other
  return comparable(one, other) === comparable(other, one) && one !== undefined
}

const orders = {
  '<': (one: number, other: number) => one < other,
  '<=': (one: number, other: number) => one <= other,
  '>': (one: number, other: number) => one > other,
  '>=': (one: number, other: number) => one >= other,
}
type Comparison = keyof typeof orders

export function isOrdered(order: Comparison, left: ListFilterValue, right: ListFilterValue): boolean {
  const [one, other] = [comparable(left, right), comparable(right, left)]
  if (typeof one === 'number' && typeof other === 'number') return orders[order](one, other)
  if (typeof one !== 'string' || typeof other !== 'string') return false
  return orders[order](one < other ? -1 : Number(one > other), 0)
}

export const sizeOf = (value: ListFilterValue): ListFilterValue => {
  if (typeof value === 'string') return Array.from(value).length
  return Array.isArray(value) ? value.length : value === null ? 0 : undefined
}

/** String functions with a string argument. */
export const questions: ReadonlyMap<string, (text: string, other: string) => boolean> = new Map([
  ['startsWith', (text, other) => text.startsWith(other)],
  ['endsWith', (text, other) => text.endsWith(other)],
  ['contains', (text, other) => text.includes(other)],
])
