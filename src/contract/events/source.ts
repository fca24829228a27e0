import { fail } from '#base/errors.ts'
import { fieldNamed, fieldNames, refuseFieldName, trafficTypes } from '#contract/events/field-names.ts'
import { eventFilter } from '#contract/events/filter.ts'
import { isTrafficType } from '#contract/events/traffic-fields.ts'

/** A source of a subscription as it is kept: what is not chosen is not there. */
export interface EventSource {
  readonly type: string
  /** Absent: the usual ones. */
  readonly fields?: readonly string[]
  /** Absent: every event. */
  readonly filter?: string
}

/** The source to keep of what a caller gives: each field once, and what is empty not at all. */
export const sourceFrom = ({ type, fields, filter }: EventSource): EventSource => ({
  type,
  ...(fields && fields.length > 0 && { fields: [...new Set(fields)] }),
  ...(filter && { filter }),
})

/** Refuses fields and filters that this type of event cannot have; `path` leads to the source in what the caller sent. */
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
