import type { TSchema } from '#contract/schema.ts'
import type { Field, Shape } from '#contract/shape.ts'

/** One documented field. Fields of nested objects have dotted names. */
export interface FieldLine {
  readonly name: string
  /** The name a caller writes, where it differs from the name read. */
  readonly writtenAs?: string
  readonly type: string
  readonly doc: string
  /** When it is required and when it can change. */
  readonly when: string
  readonly fallback?: string
  readonly limits: readonly string[]
  readonly secret?: string
}

/** The JSON Schema keywords that the contract uses. */
interface Known {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Known[]
  readonly items?: Known
  readonly properties?: Readonly<Record<string, Known>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Known | boolean
  readonly format?: string
  readonly pattern?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxBytes?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly description?: string
}

const known = (schema: TSchema): Known => schema

const formats: Readonly<Record<string, string>> = {
  'date-time': 'time (RFC 3339)',
  email: 'e-mail address',
}
const words: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
}

/** A schema without its "or null". */
function bare(schema: Known): { schema: Known; nullable: boolean } {
  const some = schema.anyOf?.find(each => each.type !== 'null')
  if (some) return { schema: some, nullable: true }
  return { schema, nullable: typeof schema.type === 'object' && schema.type.includes('null') }
}

const isRef = (properties: object): boolean => Object.keys(properties).join() === 'id,uri'

function objectText({ properties, additionalProperties: values }: Known): string {
  if (properties) return isRef(properties) ? 'Ref' : 'object'
  return typeof values === 'object' ? `map from text to ${typeText(values)}` : 'object'
}

/** The type of a value in words. */
function typeText(given: Known): string {
  const { schema, nullable } = bare(given)
  const type = String([schema.type].flat()[0])
  const text = () => {
    if (schema.enum) return schema.enum.length === 1 ? `"${schema.enum[0]}"` : schema.enum.join(' | ')
    if (type === 'array') return `list of ${typeText(schema.items ?? {})}`
    if (type === 'object') return objectText(schema)
    return formats[schema.format ?? ''] ?? words[type] ?? type
  }
  return nullable ? `${text()}, or null` : text()
}

const UINT32_MAX = 4_294_967_295
/** Patterns that only exclude control characters. */
const isPlainText = (pattern: string): boolean => pattern.startsWith('^[^')

function rangeText(minimum: number, maximum: number, unit = ''): string {
  if (maximum === UINT32_MAX) return `${minimum} or more`
  return minimum === 0 && unit ? `at most ${maximum}${unit}` : `${minimum} to ${maximum}${unit}`
}

function limitsOf(schema: Known): string[] {
  const { minimum, maximum, pattern, items, additionalProperties: values } = schema
  const inner = items ?? (typeof values === 'object' ? values : undefined)
  return [
    ...(schema.minLength ? ['not empty'] : []),
    ...(schema.maxBytes === undefined ? [] : [`at most ${schema.maxBytes} bytes`]),
    ...(minimum === undefined || maximum === undefined ? [] : [rangeText(minimum, maximum)]),
    ...(schema.maxItems === undefined ? [] : [rangeText(schema.minItems ?? 0, schema.maxItems, ' entries')]),
    ...(schema.maxProperties === undefined ? [] : [rangeText(0, schema.maxProperties, ' entries')]),
    ...(pattern === undefined || isPlainText(pattern) ? [] : [`matches ${pattern}`]),
    ...(inner ? limitsOf(inner).map(limit => `each: ${limit}`) : []),
  ]
}

const secrecy = {
  returned: 'Secret: encrypted at rest, returned.',
  masked: 'Secret: encrypted at rest, returned as an empty string.',
  hidden: 'Secret: encrypted at rest, never returned.',
}

/** Nested objects are replaced whole, so only the resource's own fields differ between create and update. */
function whenText(field: Field, changes: boolean): string {
  if (!field.write || field.create === 'never') return 'read only'
  const given = field.create === 'required' ? 'required' : 'optional'
  const fixed = changes && !field.update ? ', on create only' : ''
  return `${given}${fixed}${field.read ? '' : ', not returned'}`
}

/** A default worth documenting: an empty list is not. */
function fallbackText({ write, create }: Field): string | undefined {
  const value = write && create === 'optional' ? known(write).default : undefined
  return value === undefined || (typeof value === 'object' && value !== null) || value === ''
    ? undefined
    : JSON.stringify(value)
}

/** The properties of an object, or of the objects in a list. */
function inside(schema: Known): Pick<Known, 'properties' | 'required'> {
  const { schema: outer } = bare(schema)
  return outer.items ? bare(outer.items).schema : outer
}

/** Values without a shape still list their properties, unless that is a resource or a Ref. */
function linesInside(name: string, read: Known, write: Known): FieldLine[] {
  const { properties } = inside(read)
  const written = inside(write)
  if (!properties || 'id' in properties) return []
  return Object.entries(properties).flatMap(([key, value]) => {
    const path = `${name}${bare(read).schema.items ? '[]' : ''}.${key}`
    const given = written.properties?.[key]
    const demanded = written.required?.includes(key) ? 'required' : 'optional'
    const when = given ? demanded : 'read only'
    const limits = given ? limitsOf(given) : []
    const line = { name: path, type: typeText(value), doc: value.description ?? '', when, limits }
    return [line, ...linesInside(path, value, given ?? {})]
  })
}

interface FieldPath {
  /** Put before every name. */
  readonly path?: string
  /** Whether the fields can change after create. */
  readonly changes: boolean
  /** Names to omit: they are documented elsewhere. */
  readonly without?: readonly string[]
  /** Objects already documented, by their shape. */
  readonly documented?: Map<Shape, string>
}

function lineOf(name: string, field: Field, { path = '', changes }: FieldPath): FieldLine {
  const schema = known(field.read ?? field.write ?? {})
  const fallback = fallbackText(field)
  const { doc = '' } = field
  return {
    name: path + name,
    ...(field.as !== undefined && { writtenAs: path + field.as }),
    type: typeText(schema),
    doc,
    when: whenText(field, changes),
    ...(fallback !== undefined && { fallback }),
    limits: limitsOf(known(field.write ?? {})).filter(limit => !doc.includes(limit)),
    ...(field.secret && { secret: secrecy[field.secret] }),
  }
}

/** The fields of a nested object; of several equal objects only the first is documented in full. */
function linesOfObject(line: FieldLine, shape: Shape, documented: Map<Shape, string>): FieldLine[] {
  const same = documented.get(shape)
  if (same !== undefined) return [{ ...line, doc: `${line.doc} The same fields as ${same}.`.trim() }]
  documented.set(shape, line.name)
  return [line, ...fieldLines(shape, { path: `${line.name}.`, changes: false, documented })]
}

/** Every field that a caller can write or read, in order. */
export function fieldLines(shape: Shape, path: FieldPath): FieldLine[] {
  const { without, documented = new Map<Shape, string>() } = path
  return Object.entries(shape).flatMap(([name, field]) => {
    if (without?.includes(name) || (!field.read && !field.write)) return []
    const line = lineOf(name, field, path)
    if (field.shape) return linesOfObject(line, field.shape, documented)
    return [line, ...linesInside(line.name, known(field.read ?? {}), known(field.write ?? {}))]
  })
}
