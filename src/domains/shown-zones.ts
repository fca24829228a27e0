import { derivedId } from '#base/ids.ts'
import type { ResourceBody } from '#contract/body.ts'
import { dnsZone, MAX_SHOWN_RECORDS } from '#contract/kinds/dns-zone.ts'
import type { Zone } from '#dns/zone.ts'
import { typeName, valueText } from '#dns/zone-file.ts'

export type ShownZone = ResourceBody & { readonly id: string }

/** A zone in the form of the management API; its id is the same on every node. */
export function shownZone(zone: Zone, accountId: string): ShownZone {
  const records = [...zone.records()].flatMap(([name, { type, ttl, data }]) =>
    data.map(each => ({ name, type: typeName(type), ttl, value: valueText(type, each) })),
  )
  return {
    id: derivedId(dnsZone.prefix ?? '', accountId, zone.apex),
    domain: zone.apex,
    serial: zone.serial,
    records: records.slice(0, MAX_SHOWN_RECORDS),
    record_count: records.length,
  }
}
