import { jsonFault } from '#base/json-fault.ts'
import { UsageError } from '#cli/failure.ts'
import type { Operation } from '#contract/operations.ts'
import { writtenName } from '#contract/shape-schema.ts'

/** The JSON Schema keywords that flags need. */
interface FieldSchema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly items?: FieldSchema
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly additionalProperties?: FieldSchema | boolean
  readonly required?: readonly string[]
}

export type FlagForm = 'text' | 'choice' | 'number' | 'switch' | 'list' | 'map' | 'json'

/** One body field as a command line flag. */
export interface Flag {
  readonly field: string
  readonly flag: string
  readonly form: FlagForm
  readonly schema: FieldSchema
  readonly required: boolean
  /** The kinds whose ids it takes. */
  readonly kinds: readonly string[]
  /** The default; an update leaves absent fields unchanged. */
  readonly fallback: unknown
}

export const dashed = (name: string): string => name.replaceAll('_', '-')

function formOf(schema: FieldSchema): FlagForm {
  switch (schema.type) {
    case 'string':
      return schema.enum ? 'choice' : 'text'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'switch'
    case 'array':
      return schema.items?.type === 'string' ? 'list' : 'json'
    default:
      return typeof schema.additionalProperties === 'object' ? 'map' : 'json'
  }
}

/** The flags of an operation: one for each field that its body may have. */
export function flagsOf({ input, method }: Operation): Flag[] {
  const { properties = {}, required = [] } = (input?.schema ?? {}) as FieldSchema
  const targets = new Map(
    Object.entries(input?.shape ?? {}).map(([name, field]) => [writtenName(name, field), field.target]),
  )
  return Object.entries(properties).map(([field, schema]) => ({
    field,
    flag: `--${dashed(field)}`,
    form: formOf(schema),
    schema,
    required: required.includes(field),
    kinds: targets.get(field)?.kinds ?? [],
    fallback: method === 'PATCH' ? undefined : schema.default,
  }))
}

function numberIn(text: string, flag: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value)) return value
  throw new UsageError(`${flag} must be a number, not "${text}"`)
}

export function jsonIn(text: string, origin: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new UsageError(`${origin} must be JSON: ${jsonFault(error)}`)
  }
}

function choiceIn(text: string, { flag, schema }: Flag): string {
  if (schema.enum?.includes(text)) return text
  throw new UsageError(`${flag} must be one of ${schema.enum?.join(', ') ?? ''}, not "${text}"`)
}

/** `a,b`, or a JSON array for items with commas. */
function listIn(text: string, flag: string): unknown[] {
  if (text.startsWith('[')) return jsonIn(text, flag) as unknown[]
  return text.split(',').flatMap(item => item.trim() || [])
}

/** `name=value`, or a JSON object. */
function mapIn(text: string, { flag, schema }: Flag): object {
  if (text === '') return {}
  if (text.startsWith('{')) return jsonIn(text, flag) as object
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === '') throw new UsageError(`${flag} must be name=value, not "${text}"`)
  const values = schema.additionalProperties
  const numeric = typeof values === 'object' && formOf(values) === 'number'
  return { [name]: numeric ? numberIn(value, flag) : value }
}

/** The value of the given texts; for a single value the last one counts. */
export function valueOf(flag: Flag, given: readonly string[]): unknown {
  const last = given.at(-1) ?? ''
  switch (flag.form) {
    case 'text':
      return last
    case 'choice':
      return choiceIn(last, flag)
    case 'number':
      return numberIn(last, flag.flag)
    case 'switch':
      return last === 'true'
    case 'list':
      return given.flatMap(text => listIn(text, flag.flag))
    case 'map':
      return Object.assign({}, ...given.map(text => mapIn(text, flag))) as unknown
    case 'json':
      return jsonIn(last, flag.flag)
  }
}
