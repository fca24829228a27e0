import { camelCase } from '#base/camel-case.ts'
import type { OptionKey, tunnelOptions } from '#tunnel/tunnel-options.ts'
import type { MainPart, TunnelOption } from '#tunnel/tunnel-option.ts'

/** Properties that are not the key in camel case. */
const renamed = { upstream_tls_verify_cas: 'upstreamCas' } as const

type Rows = typeof tunnelOptions
type Camel<Key extends string> = Key extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Key
type PropertyOf<Key extends string> = Key extends keyof typeof renamed ? (typeof renamed)[Key] : Camel<Key>
type ValueOf<Row> = Row extends TunnelOption<infer Value> ? Value : never
type GroupOf<Key> = Key extends `${infer Group}.${string}` ? Group : never
type PartOf<Key, Group extends string> = Key extends `${Group}.${infer Part}` ? Camel<Part> : never

/** The values of the options whose keys have no dot. */
type Simple = {
  readonly [Key in OptionKey as Key extends `${string}.${string}` ? never : PropertyOf<Key>]?:
    ValueOf<Rows[Key]> | undefined
}

/** The value of a map; its main part is required. */
type GroupValue<Group extends string> = {
  readonly [Key in OptionKey as Rows[Key] extends MainPart ? PartOf<Key, Group> : never]: ValueOf<Rows[Key]>
} & {
  readonly [Key in OptionKey as Rows[Key] extends MainPart ? never : PartOf<Key, Group>]?:
    ValueOf<Rows[Key]> | undefined
}

/** The values of all options, under the names that programs use: `oauth.allow_emails` is `oauth.allowEmails`. */
export type OptionValues = Simple & {
  readonly [Group in GroupOf<OptionKey> as Camel<Group>]?: GroupValue<Group> | undefined
}

/** Where the value of an option is in `OptionValues`. */
export function propertyOf(key: string): readonly [name: string, part?: string] {
  const [name = '', part] = key.split('.')
  if (part !== undefined) return [camelCase(name), camelCase(part)]
  return [Object.hasOwn(renamed, name) ? renamed[name as keyof typeof renamed] : camelCase(name)]
}

export function valueOf(options: object, key: string): unknown {
  const [name, part] = propertyOf(key)
  const value = (options as Readonly<Record<string, unknown>>)[name]
  return part === undefined ? value : (value as Readonly<Record<string, unknown>> | undefined)?.[part]
}
