import { Type, type Static, type TSchema, type TUnsafe } from 'typebox'
import type { ErrorName } from '#base/errors.ts'

export type { Static, TSchema, TUnsafe }

/** What a schema may say beyond JSON Schema. */
export interface Extras {
  /** Limit in UTF-8 bytes, which is what the specification counts. */
  readonly maxBytes?: number
  /** The error a value that breaks this schema is refused with; `invalid_value` unless said. */
  readonly refusal?: ErrorName
  /** The same for single keywords, such as `maxItems`. */
  readonly refusals?: Readonly<Record<string, ErrorName>>
  /** The error for a required value that is not there; `missing_field` unless said. */
  readonly missing?: ErrorName
  readonly default?: unknown
  readonly [keyword: string]: unknown
}

/** A line of text without control characters. */
export const line = (extras: Extras = {}) =>
  Type.String({ pattern: '^[^\\u0000-\\u001f\\u007f]*$', ...extras })

/** Any text, line breaks included. NUL is refused: no database keeps it. */
export const text = (extras: Extras = {}) => Type.String({ pattern: '^[^\\u0000]*$', ...extras })

export const flag = (fallback: boolean) => Type.Boolean({ default: fallback })

export const integer = (minimum: number, maximum: number, extras: Extras = {}) =>
  Type.Integer({ minimum, maximum, ...extras })

/** Seconds or a count, as the specification's uint32. */
export const uint32 = (fallback: number, extras: Extras = {}) =>
  integer(0, 4_294_967_295, { default: fallback, ...extras })

export const number = (minimum: number, maximum: number, extras: Extras = {}) =>
  Type.Number({ minimum, maximum, ...extras })

export const oneOf = <const Values extends readonly string[]>(...values: Values) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: [...values] })

export const listOf = <Item extends TSchema>(items: Item, extras: Extras = {}) =>
  Type.Array(items, { default: [], maxItems: 1000, ...extras })

export const mapOf = <Value extends TSchema>(values: Value, extras: Extras = {}) =>
  Type.Unsafe<Record<string, Static<Value>>>({
    type: 'object',
    additionalProperties: values,
    maxProperties: 1000,
    default: {},
    ...extras,
  })

/** A moment in RFC 3339. */
export const moment = (extras: Extras = {}) => Type.String({ format: 'date-time', ...extras })

export const boolean = () => Type.Boolean()

export const object = <Properties extends Record<string, TSchema>>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false })

/** The same with `null` for "no value". */
export const nullable = <Value extends TSchema>(value: Value) =>
  Type.Unsafe<Static<Value> | null>(
    'type' in value && typeof value.type === 'string' && !('enum' in value)
      ? { ...value, type: [value.type, 'null'] }
      : { anyOf: [value, { type: 'null' }] },
  )

/** The same schema with more said about it. */
export const also = <Value extends TSchema>(value: Value, extras: Extras): Value => ({ ...value, ...extras })

/** A reference to another resource as it is read. */
export const refSchema = Type.Object(
  { id: Type.String(), uri: Type.String() },
  { additionalProperties: false },
)
export type Ref = Static<typeof refSchema>

/** A JSON object whose inside is not ours to check. */
export const anything = () => Type.Unsafe<Record<string, unknown>>({ type: 'object' })

/** A property of an object that may be left out. */
export const partly = Type.Optional
