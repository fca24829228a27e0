import { addressRecord, challengeName } from '#acme/dns-check.ts'
import type { ZoneDns } from '#acme/dns.ts'
import type { CheckedDomain } from '#contract/domain-check.ts'
import type { DomainEnvironment, Proving } from '#domains/acme/proving.ts'
import { isIPv6 } from 'node:net'

type DnsRecord = CheckedDomain['required'][number]

/** Each needs a few queries. */
const MAX_NAMES = 8

function parsed(line: string): DnsRecord[] {
  const [name = '', type, value = ''] = line.split(' ')
  return type === 'A' || type === 'AAAA' || type === 'CNAME' || type === 'NS' ? [{ name, type, value }] : []
}

/** The records that a domain needs. */
export function requiredRecords(
  { names, zone, cnameTarget, challengeTarget }: Proving,
  { addresses }: DomainEnvironment,
): DnsRecord[] {
  if (zone !== undefined) return zone.records.flatMap(parsed)
  const challenges = challengeTarget === undefined ? [] : names.map(challengeName)
  return [
    ...names.flatMap((name): DnsRecord[] =>
      cnameTarget === undefined
        ? addresses.flatMap(address => parsed(addressRecord(name, address)))
        : [{ name, type: 'CNAME', value: cnameTarget }],
    ),
    ...[...new Set(challenges)]
      .filter(name => name !== challengeTarget)
      .map((name): DnsRecord => ({ name, type: 'CNAME', value: challengeTarget ?? '' })),
  ]
}

/** What DNS has for the names of these records; a wildcard is queried as one of the names below it. */
export async function foundRecords(
  required: readonly DnsRecord[],
  { names }: Proving,
  dns: ZoneDns,
): Promise<DnsRecord[]> {
  const zones = new Set(required.filter(({ type }) => type === 'NS').map(({ name }) => name))
  const all = new Set([...names, ...required.map(({ name }) => name)])
  const found = await Promise.all(
    [...all].slice(0, MAX_NAMES).map(async (name): Promise<DnsRecord[]> => {
      const servers = zones.has(name) ? await dns.nameServers(name) : []
      return [
        ...servers.map(value => ({ name, type: 'NS' as const, value })),
        ...(await hostRecords(name, dns)),
      ]
    }),
  )
  return found.flat()
}

async function hostRecords(name: string, dns: ZoneDns): Promise<DnsRecord[]> {
  const asked = name.replace(/^\*(?=\.)/, 'adit-check')
  const target = await dns.cname(asked)
  const addresses = await dns.addresses(asked)
  return [
    ...(target === undefined ? [] : [{ name, type: 'CNAME' as const, value: target }]),
    ...addresses.map(value => ({ name, type: isIPv6(value) ? ('AAAA' as const) : ('A' as const), value })),
  ]
}
