import { isPlainObject } from '#base/plain-object.ts'
import { titleOf } from '#contract/names.ts'
import { isRef, type Resource } from '#ui/dashboard/kinds/resource.ts'

/** A field with different values in two states of a resource; undefined where a state does not have it. */
export interface ChangedField {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

const isParts = (value: unknown): value is Resource => isPlainObject(value) && !isRef(value)

/** What is compared of a value: the path of a Ref depends on how the API was called. */
const comparable = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, each: unknown) => (isRef(each) ? each.id : each))

/** The fields that differ between two states of a resource, parts of objects one by one. */
export function changedFields(
  before: Resource,
  after: Resource,
  path: readonly string[] = [],
): ChangedField[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap(name => {
    const [old, now] = [before[name], after[name]]
    if (name === 'uri' || comparable(old) === comparable(now)) return []
    const at = [...path, titleOf(name)]
    if (isParts(old) || isParts(now))
      return changedFields(isParts(old) ? old : {}, isParts(now) ? now : {}, at)
    return [{ name: at.join(' › '), before: old, after: now }]
  })
}
