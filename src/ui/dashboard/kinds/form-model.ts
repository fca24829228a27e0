import { titleOf } from '#contract/names.ts'
import type { TSchema } from '#contract/schema.ts'
import { isWritable, writtenName } from '#contract/shape-schema.ts'
import type { Field, Shape } from '#contract/shape.ts'
import { owners } from '#contract/targets.ts'

/** How a value is entered. */
export type Control =
  | {
      readonly type: 'text'
      readonly isLong: boolean
      readonly maxBytes?: number
      readonly fallback?: string
    }
  | {
      readonly type: 'number'
      readonly minimum?: number
      readonly maximum?: number
      readonly fallback?: number
    }
  | { readonly type: 'switch'; readonly fallback: boolean }
  | { readonly type: 'choice'; readonly values: readonly string[]; readonly fallback?: string }
  | { readonly type: 'reference'; readonly kinds: readonly string[] }
  | { readonly type: 'list'; readonly item: Control }
  | { readonly type: 'map'; readonly value: Control; readonly keys: Control }
  | { readonly type: 'group'; readonly fields: readonly FormField[]; readonly isOptional: boolean }
  | { readonly type: 'json' }

export interface FormField {
  /** The name that a caller writes. */
  readonly name: string
  readonly title: string
  readonly doc: string
  readonly isRequired: boolean
  readonly isSecret: boolean
  /** Null removes the value. */
  readonly canClear: boolean
  readonly control: Control
}

/** The keywords of a schema that matter here. */
interface Keywords {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Keywords[]
  readonly items?: Keywords
  readonly properties?: Readonly<Record<string, Keywords>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Keywords | boolean
  readonly pattern?: string
  readonly maxBytes?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: unknown
  readonly description?: string
}

const LONG_TEXT_BYTES = 300
const SHORT_TEXT: Control = { type: 'text', isLong: false }

/** The type without null. */
const typeOf = ({ type }: Keywords): string | undefined =>
  typeof type === 'string' ? type : type?.find(each => each !== 'null')

function numberOf({ minimum, maximum, default: fallback }: Keywords): Control {
  return {
    type: 'number',
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
    ...(typeof fallback === 'number' && { fallback }),
  }
}

function textOf({ pattern, maxBytes, default: fallback }: Keywords): Control {
  const allowsBreaks = pattern !== undefined && !pattern.includes('u001f')
  return {
    type: 'text',
    isLong: allowsBreaks && (maxBytes ?? LONG_TEXT_BYTES) >= LONG_TEXT_BYTES,
    ...(maxBytes !== undefined && { maxBytes }),
    ...(typeof fallback === 'string' && { fallback }),
  }
}

function objectOf(schema: Keywords, kinds: readonly string[] | undefined): Control {
  const { properties, required = [], additionalProperties: values } = schema
  if (properties)
    return {
      type: 'group',
      isOptional: false,
      fields: Object.entries(properties).map(([name, each]) => ({
        ...namedField(name, each.description),
        isRequired: required.includes(name),
        control: controlOf(each),
      })),
    }
  if (typeof values !== 'object') return { type: 'json' }
  const keys: Control = kinds ? { type: 'reference', kinds } : SHORT_TEXT
  return { type: 'map', value: controlOf(values), keys }
}

function controlOf(schema: Keywords, kinds?: readonly string[]): Control {
  const inner = schema.anyOf?.find(each => each.type !== 'null')
  if (inner) return controlOf(inner, kinds)
  if (schema.enum)
    return {
      type: 'choice',
      values: schema.enum,
      ...(typeof schema.default === 'string' && { fallback: schema.default }),
    }
  switch (typeOf(schema)) {
    case 'boolean':
      return { type: 'switch', fallback: schema.default === true }
    case 'integer':
    case 'number':
      return numberOf(schema)
    case 'array':
      return { type: 'list', item: controlOf(schema.items ?? {}, kinds) }
    case 'object':
      return objectOf(schema, kinds)
    case 'string':
      return kinds ? { type: 'reference', kinds } : textOf(schema)
    default:
      return { type: 'json' }
  }
}

const namedField = (name: string, doc = '') => ({
  name,
  title: titleOf(name.replace(/_ids?$/, '')),
  doc,
  isRequired: false,
  isSecret: false,
  canClear: false,
})

function formField(name: string, field: Field, write: TSchema, operation: 'create' | 'update'): FormField {
  const control: Control = field.shape
    ? { type: 'group', fields: formFields(field.shape, 'create'), isOptional: field.fallback === null }
    : controlOf(write, name === 'owner_id' ? owners.kinds : field.target?.kinds)
  return {
    ...namedField(writtenName(name, field), field.doc),
    isRequired: operation === 'create' && field.create === 'required',
    isSecret: field.secret !== undefined,
    canClear: field.omitWhenUnset === true,
    control,
  }
}

/** What names a resource for people comes first, and what only programs and few people use last. */
const places: Readonly<Record<string, number>> = { description: -1, owner_id: 1, metadata: 2 }
const rank = ({ name }: FormField): number => places[name] ?? 0

/** The fields of a form, derived from the declaration of a resource. */
export const formFields = (shape: Shape, operation: 'create' | 'update'): FormField[] =>
  Object.entries(shape)
    .flatMap(([name, field]) =>
      field.write && isWritable(field, operation) ? [formField(name, field, field.write, operation)] : [],
    )
    .toSorted((one, other) => rank(one) - rank(other))
