import { isPlainObject } from '#base/plain-object.ts'
import { invalidAnswer } from '#acme/problem.ts'

const MAX_URL = 2048

/** An object of a response. Every field is checked when it is read; an invalid one makes the whole response invalid. */
export class ResponseFields {
  readonly #values: Readonly<Record<string, unknown>>
  readonly #what: string

  constructor(value: unknown, what: string) {
    this.#values = isPlainObject(value) ? value : invalidAnswer(`something that is not ${what}`)
    this.#what = what
  }

  text(name: string, pattern: RegExp): string {
    const value = this.#values[name]
    if (typeof value === 'string' && pattern.test(value)) return value
    return this.#wrong(name)
  }

  oneOf<const Value extends string>(name: string, values: readonly Value[]): Value {
    return values.find(value => value === this.#values[name]) ?? this.#wrong(name)
  }

  /** A URL with the same scheme as the directory's. */
  url(name: string, scheme: string): string {
    return address(this.#values[name], scheme) ?? this.#wrong(name)
  }

  maybeUrl(name: string, scheme: string): string | undefined {
    return this.#values[name] === undefined ? undefined : this.url(name, scheme)
  }

  maybeMoment(name: string): number | undefined {
    const value = this.#values[name]
    if (value === undefined || value === null) return undefined
    const at = typeof value === 'string' && value.length < 64 ? Date.parse(value) : NaN
    return Number.isNaN(at) ? this.#wrong(name) : at
  }

  /** Between one and `most` things. */
  list(name: string, most: number): readonly unknown[] {
    const value = this.#values[name]
    return Array.isArray(value) && value.length >= 1 && value.length <= most ? value : this.#wrong(name)
  }

  /** Any value, for a closer check. */
  raw(name: string): unknown {
    return this.#values[name]
  }

  inner(name: string): ResponseFields {
    return new ResponseFields(this.#values[name], `the "${name}" of ${this.#what}`)
  }

  #wrong(name: string): never {
    return invalidAnswer(`${this.#what} whose "${name}" is missing or not valid`)
  }
}

/** A URL to call next, normalized. */
export function address(value: unknown, scheme: string): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_URL) return undefined
  const url = URL.parse(value)
  return url?.protocol === scheme && url.username === '' && url.password === '' ? url.href : undefined
}
