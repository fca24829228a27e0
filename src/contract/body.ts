import { isPlainObject } from '#base/plain-object.ts'
import type { Ref } from '#contract/schema.ts'
import { isWritable, writtenName } from '#contract/shape-schema.ts'
import type { Field, Shape, ReferenceTarget } from '#contract/shape.ts'

/** A stored resource: keyed by the names read, with ids in place of Refs. */
export type ResourceBody = Record<string, unknown>

interface NamedField {
  readonly name: string
  readonly field: Field
}

const listed = new WeakMap<Shape, readonly NamedField[]>()

/** The fields of a shape in order, listed once: every request uses them. */
export function fieldsOf(shape: Shape): readonly NamedField[] {
  const known = listed.get(shape)
  if (known) return known
  const fields = Object.entries(shape).map(([name, field]) => ({ name, field }))
  listed.set(shape, fields)
  return fields
}

/**
 * Removes nulls: clients send null for absent values, except for unset fields. Only for fields of the shape; a null
 * inside a map or a list is invalid and left for validation.
 */
export function withoutNulls(shape: Shape, given: ResourceBody): ResourceBody {
  const cleaned = { ...given }
  for (const { name, field } of fieldsOf(shape)) {
    const key = writtenName(name, field)
    const value = cleaned[key]
    if (value === null && field.omitWhenUnset) cleaned[key] = fallback(field)
    else if (value === null && field.write) delete cleaned[key]
    else if (field.shape && isPlainObject(value)) cleaned[key] = withoutNulls(field.shape, value)
  }
  return cleaned
}

function fallback(field: Field): unknown {
  const { fallback: value } = field
  // Most are texts, for which a clone costs more than all the rest of a field.
  if (value !== undefined) return typeof value === 'object' ? structuredClone(value) : value
  return field.shape ? decode(field.shape, {}) : null
}

/** What the absence of a field means in a stored resource. */
const absent = (field: Field): unknown => (field.earlier === undefined ? fallback(field) : field.earlier)

/** The body to store: the caller's values over the current ones, or over the defaults on create. */
export function decode(shape: Shape, given: ResourceBody, current?: ResourceBody): ResourceBody {
  const operation = current ? 'update' : 'create'
  const kept: ResourceBody = {}
  for (const { name, field } of fieldsOf(shape)) {
    const value = isWritable(field, operation) ? given[writtenName(name, field)] : undefined
    if (value === undefined) kept[name] = current ? (current[name] ?? absent(field)) : fallback(field)
    else kept[name] = field.shape && isPlainObject(value) ? decode(field.shape, value) : value
  }
  return kept
}

/** Whether a field with this value counts as unset. */
export const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0)

/** The response body. `link` makes the Ref for an id; `secrets` are masked if others than the caller may read it. */
export function encode(
  shape: Shape,
  kept: ResourceBody,
  link: (id: string) => Ref,
  secrets: 'show' | 'mask',
): ResourceBody {
  const view: ResourceBody = {}
  for (const { name, field } of fieldsOf(shape)) {
    if (!field.read) continue
    const value = kept[name] ?? absent(field)
    if (field.omitWhenUnset && isEmpty(value)) continue
    if (field.secret === 'masked' || (field.secret && secrets === 'mask'))
      view[name] = changeEach(value, () => '')
    else if (field.sensitive && secrets === 'mask')
      view[name] = changeEach(value, field.sensitive === 'url' ? originOf : () => '')
    else if (field.expand) view[name] = expanded(value, link)
    else view[name] = field.shape && isPlainObject(value) ? encode(field.shape, value, link, secrets) : value
  }
  return view
}

/** A URL without the parts that may be secret: user name, password, path and query. */
function originOf(text: string): string {
  const url = URL.parse(text)
  return url === null ? '' : `${url.protocol}//${url.host}/`
}

function expanded(value: unknown, link: (id: string) => Ref): Ref | Ref[] | null {
  if (Array.isArray(value)) return value.map(id => link(String(id)))
  return typeof value === 'string' ? link(value) : null
}

export interface ResourceReference {
  readonly id: string
  readonly target: ReferenceTarget
  /** The name under which the caller wrote it. */
  readonly field: string
}

function idsIn(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (Array.isArray(value)) return value.map(String)
  return isPlainObject(value) ? Object.keys(value) : []
}

/** Every id of another resource in a stored body. */
export function references(shape: Shape, kept: ResourceBody, path = ''): ResourceReference[] {
  const found: ResourceReference[] = []
  for (const { name, field } of fieldsOf(shape)) {
    const value = kept[name]
    const { target } = field
    if (target)
      for (const id of idsIn(value)) found.push({ id, target, field: path + writtenName(name, field) })
    else if (field.shape && isPlainObject(value))
      found.push(...references(field.shape, value, `${path}${name}.`))
  }
  return found
}

/** A secret is a string or contains strings; an empty one needs no masking. */
function changeEach(value: unknown, change: (value: string) => string): unknown {
  if (Array.isArray(value)) return value.map(item => changeEach(item, change))
  if (isPlainObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, changeEach(item, change)]))
  }
  return typeof value === 'string' && value !== '' ? change(value) : value
}

/** The body with every secret passed through `change`, which encrypts or decrypts it. */
export function mapSecrets(
  shape: Shape,
  kept: ResourceBody,
  change: (value: string) => string,
): ResourceBody {
  const changed = { ...kept }
  for (const { name, field } of fieldsOf(shape)) {
    const value = kept[name]
    if (field.secret) changed[name] = changeEach(value, change)
    else if (field.shape && isPlainObject(value)) changed[name] = mapSecrets(field.shape, value, change)
  }
  return changed
}

/** Whether the shape has anything that not every reader may see. */
export const hasMasked = (shape: Shape): boolean =>
  Object.values(shape).some(
    ({ secret, sensitive, shape: inner }) =>
      secret !== undefined || sensitive !== undefined || (inner && hasMasked(inner)),
  )

/** Whether the shape has anything that is encrypted at rest. */
export const hasSecrets = (shape: Shape): boolean =>
  Object.values(shape).some(field => field.secret !== undefined || (field.shape && hasSecrets(field.shape)))
