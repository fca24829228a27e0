import * as Type from 'typebox'
import type { Static, TSchema, TUnsafe } from 'typebox'
import type { ErrorName } from '#base/errors.ts'

export type { Static, TSchema, TUnsafe }

/** Custom schema keywords. */
export interface Extras {
  /** Limit in UTF-8 bytes, as in the specification. */
  readonly maxBytes?: number
  /** The error for a value that violates this schema; default `invalid_value`. */
  readonly refusal?: ErrorName
  /** The same for single keywords, such as `maxItems`. */
  readonly refusals?: Readonly<Record<string, ErrorName>>
  /** The error for a missing required value; default `missing_field`. */
  readonly missing?: ErrorName
  readonly default?: unknown
  readonly [keyword: string]: unknown
}

/** A line of text without control characters. */
export const line = (extras: Extras = {}) =>
  Type.String({ pattern: '^[^\\u0000-\\u001f\\u007f]*$', ...extras })

/** Any text, including line breaks. NUL is rejected: databases cannot store it. */
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

/** An RFC 3339 time. */
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

/** The same schema with additional keywords. */
export const also = <Value extends TSchema>(value: Value, extras: Extras): Value => ({ ...value, ...extras })

/** A reference to another resource as returned. */
export const refSchema = Type.Object(
  { id: Type.String(), uri: Type.String() },
  { additionalProperties: false },
)
export type Ref = Static<typeof refSchema>

/** A JSON object whose content is not validated. */
export const anything = () => Type.Unsafe<Record<string, unknown>>({ type: 'object' })

/** An optional property of an object. */
export const partly = Type.Optional
