import type { CatalogEntry } from '#base/catalog/entry.ts'
import { catalog } from '#base/catalog.ts'

export type ErrorName = keyof typeof catalog

type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never

type Values<Name extends ErrorName> = Record<Placeholders<(typeof catalog)[Name]['text']>, string | number>

type Arguments<Name extends ErrorName> = [Placeholders<(typeof catalog)[Name]['text']>] extends [never]
  ? [values?: Record<string, string | number>]
  : [values: Values<Name> & Record<string, string | number>]

/** An error for the caller: its catalogue entry and the message made from it. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ErrorName
  readonly status: number
  readonly number: number | undefined
  readonly field: string | undefined
  /** Seconds after which a retry makes sense. */
  readonly retryAfter: number | undefined
  /** The values of the message, so that another process can make the same one. */
  readonly values: Readonly<Record<string, string | number>>

  constructor(code: ErrorName, values: Readonly<Record<string, string | number>>) {
    const entry: CatalogEntry = catalog[code]
    super(entry.text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? '')))
    this.code = code
    this.values = values
    this.status = entry.status
    this.number = entry.number
    this.field = values['field'] === undefined ? undefined : String(values['field'])
    this.retryAfter = values['retryAfter'] === undefined ? undefined : Number(values['retryAfter'])
  }
}

/** Throws an error of the catalogue; every placeholder of its message must be given. */
export function fail<Name extends ErrorName>(code: Name, ...[values]: Arguments<Name>): never {
  throw new Problem(code, values ?? {})
}
