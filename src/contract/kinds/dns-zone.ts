import { kind } from '#contract/kind.ts'
import { integer, line, listOf, object, text } from '#contract/schema.ts'
import { computed } from '#contract/shape.ts'

const MAX_UINT32 = 2 ** 32 - 1

/** Of one zone that are listed. */
export const MAX_SHOWN_RECORDS = 1000

const record = object({
  name: line(),
  type: line(),
  ttl: integer(0, MAX_UINT32),
  value: text(),
})

export const dnsZone = kind({
  name: 'dns_zone',
  doc: 'A zone as the DNS server serves it. There are none while the DNS server is off.',
  prefix: 'dz',
  path: '/dns_zones',
  listKey: 'dns_zones',
  verbs: ['get', 'list'],
  live: true,
  adminOnly: true,
  event: false,
  without: ['created_at'],
  fields: {
    domain: computed(line(), 'The name at its top.'),
    serial: computed(integer(0, MAX_UINT32), 'It grows with every change.'),
    records: computed(
      listOf(record),
      `Its records, with values as in a zone file; at most ${MAX_SHOWN_RECORDS}. A name that begins with * is a wildcard.`,
    ),
    record_count: computed(integer(0, Number.MAX_SAFE_INTEGER), 'The number of all of its records.'),
  },
})
