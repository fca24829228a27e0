import { fail } from '#base/errors.ts'
import { fieldNamed, fieldNames, refuseFieldName, trafficTypes } from '#contract/events/field-names.ts'
import { eventFilter } from '#contract/events/filter.ts'
import { isTrafficType } from '#contract/events/traffic-fields.ts'

/** A stored source of a subscription: unset options are absent. */
export interface EventSource {
  readonly type: string
  /** Absent: the default ones. */
  readonly fields?: readonly string[]
  /** Absent: every event. */
  readonly filter?: string
}

/** The source to store: each field once, empty options removed. */
export const sourceFrom = ({ type, fields, filter }: EventSource): EventSource => ({
  type,
  ...(fields && fields.length > 0 && { fields: [...new Set(fields)] }),
  ...(filter && { filter }),
})

/** Rejects fields and filters that this event type does not support; `path` is the source's position in the request. */
export function checkSelection({ type, fields, filter }: EventSource, path = ''): void {
  const field = `${path}fields`
  if (!isTrafficType(type)) {
    const types = trafficTypes.join(' and ')
    if (fields) fail('source_no_fields', { field, type, types })
    if (filter !== undefined) fail('source_no_filter', { field: `${path}filter`, type, types })
    return
  }
  for (const name of fields ?? []) {
    if (!fieldNamed(type, name)) refuseFieldName(type, name, field, fieldNames(type).join(', '))
  }
  if (filter !== undefined) eventFilter(type, filter, `${path}filter`)
}
