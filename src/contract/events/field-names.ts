import { fail } from '#base/errors.ts'
import { trafficFields, type TrafficField, type TrafficType } from '#contract/events/traffic-fields.ts'

/** The event types whose fields can be selected and filtered. */
export const trafficTypes = Object.keys(trafficFields) as readonly TrafficType[]

const fieldsOf = (type: TrafficType): Readonly<Record<string, TrafficField>> => trafficFields[type]

/** The field of that name; inherited names do not count. */
export const fieldNamed = (type: TrafficType, name: string): TrafficField | undefined =>
  Object.hasOwn(trafficFields[type], name) ? fieldsOf(type)[name] : undefined

export const fieldNames = (type: TrafficType): readonly string[] => Object.keys(trafficFields[type])

/** The names of the fields that a filter may use. */
export const filterableNames = (type: TrafficType): readonly string[] =>
  fieldNames(type).filter(name => fieldNamed(type, name)?.filter)

/** Rejects a name that is not a field of this event type; `field` is where the caller wrote it. */
export function refuseFieldName(type: TrafficType, value: string, field: string, names: string): never {
  const other = trafficTypes.find(each => fieldNamed(each, value) !== undefined)
  return other === undefined
    ? fail('source_field_unknown', { field, value: value.slice(0, 255), type, names })
    : fail('source_field_elsewhere', { field, value, other, type, names })
}
