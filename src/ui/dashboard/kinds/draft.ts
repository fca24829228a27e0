import { isPlainObject } from '#base/plain-object.ts'
import { writtenName } from '#contract/shape-schema.ts'
import type { Field, Shape } from '#contract/shape.ts'
import type { FormField } from '#ui/dashboard/kinds/form-model.ts'

export type FormValues = Readonly<Record<string, unknown>>

const idOf = (value: unknown): unknown => (isPlainObject(value) ? value['id'] : value)

function writtenValue(field: Field, value: unknown): unknown {
  if (value === null || value === undefined) return undefined
  if (field.expand) return Array.isArray(value) ? value.map(idOf) : idOf(value)
  if (field.shape && isPlainObject(value)) return asWritten(field.shape, value)
  return value
}

/** A resource as a caller would write it: ids instead of references, and without what the server sets. */
export function asWritten(shape: Shape, resource: FormValues): FormValues {
  const entries = Object.entries(shape).flatMap(([name, field]): [string, unknown][] => {
    if (!field.write || !field.read) return []
    const value = writtenValue(field, resource[name])
    return value === undefined ? [] : [[writtenName(name, field), value]]
  })
  return Object.fromEntries(entries)
}

/** A copy with another value; undefined removes it. */
export function withValue(draft: FormValues, name: string, value: unknown): FormValues {
  const { [name]: _, ...rest } = draft
  return value === undefined ? rest : { ...rest, [name]: value }
}

const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right)

/** The body of an update: only what differs. A value that was removed is sent as null where that clears it. */
export function changedBody(fields: readonly FormField[], before: FormValues, after: FormValues): FormValues {
  const entries = fields.flatMap(({ name, canClear }): [string, unknown][] => {
    if (isSame(before[name], after[name])) return []
    if (after[name] !== undefined) return [[name, after[name]]]
    return canClear ? [[name, null]] : []
  })
  return Object.fromEntries(entries)
}

/** The names of values that `before` has and `after` has not. */
export const removedNames = (before: FormValues, after: FormValues): string[] =>
  Object.keys(before).filter(name => after[name] === undefined)

/** The path of a control that fits the field of an error, such as `target.webhook.url`. */
export function controlPath(field: string, exists: (path: string) => boolean): string | undefined {
  const segments = field.split(/[.[\]/]+/).filter(segment => segment !== '')
  for (let length = segments.length; length > 0; length--) {
    const path = segments.slice(0, length).join('.')
    if (exists(path)) return path
  }
  return undefined
}
