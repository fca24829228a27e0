import { isIPv6 } from 'node:net'
import type { Dns, ZoneDns } from '#acme/dns.ts'
import type { ManagedDomain, OwnZone } from '#acme/domains.ts'

const MAX_HOPS = 10
const MAX_SHOWN = 3

/** Whether DNS points here. If not, the message names the record to set. */
type DnsCheck = { readonly proven: true } | { readonly proven: false; readonly missing: string }

export interface DnsCheckOptions {
  readonly dns: ZoneDns
  /** Addresses of this server that are not in the shared domain's DNS. */
  readonly addresses?: readonly string[]
}

/**
 * Setting these records proves control of the name: certificates of others are never ordered, however often a name is
 * reserved.
 */
export async function checkDns(domain: ManagedDomain, options: DnsCheckOptions): Promise<DnsCheck> {
  const missing = await (domain.challengeTarget === undefined
    ? missingAddresses(domain, options)
    : missingChallenges(domain, domain.challengeTarget, options))
  return missing === undefined ? { proven: true } : { proven: false, missing }
}

/** The challenge name of a wildcard, and its plain name. */
export const challengeName = (name: string): string => `_acme-challenge.${name.replace(/^\*\./, '')}`

/** A record as a line of a zone. */
export const addressRecord = (name: string, address: string): string =>
  `${name} ${isIPv6(address) ? 'AAAA' : 'A'} ${address}`

async function missingChallenges(
  { names, zone }: ManagedDomain,
  target: string,
  { dns }: DnsCheckOptions,
): Promise<string | undefined> {
  for (const name of names) {
    const asked = challengeName(name)
    if (asked !== target && !(await leadsTo(asked, target, dns)))
      return `The certificate of ${name} needs the DNS record "${asked} CNAME ${target}", which does not exist yet.`
  }
  return zone === undefined || (await isOurs(zone, dns)) ? undefined : notDelegated(zone)
}

async function missingAddresses(
  domain: ManagedDomain,
  options: DnsCheckOptions,
): Promise<string | undefined> {
  for (const name of domain.names) {
    const { cnameTarget } = domain
    const missing = await (cnameTarget === undefined
      ? missingAddress(name, domain, options)
      : missingAlias(name, cnameTarget, options))
    if (missing !== undefined) return missing
  }
  return undefined
}

/** For a name that points here by a CNAME record, or by the addresses of the target. */
async function missingAlias(
  name: string,
  target: string,
  { dns, addresses = [] }: DnsCheckOptions,
): Promise<string | undefined> {
  const found = await dns.addresses(name)
  if (await leadsTo(name, target, dns)) {
    if (found.length > 0) return undefined
    return `${name} points to ${target}, which has no address yet: the server's domain must point here, too.`
  }
  const ours = new Set([...addresses, ...(found.length > 0 ? await dns.addresses(target) : [])])
  if (areAll(found, ours)) return undefined
  return (
    `${name} ${whereItLeads(found)}. Set the DNS record "${name} CNAME ${target}"; ` +
    'at a zone apex, where a CNAME is not allowed, set A and AAAA records with the addresses of that name.'
  )
}

/** For a name in a zone that is or will be ours, and for one that can only point here by addresses. */
async function missingAddress(
  name: string,
  { zone, advice }: ManagedDomain,
  { dns, addresses = [] }: DnsCheckOptions,
): Promise<string | undefined> {
  const found = await dns.addresses(name).catch((error: unknown) => {
    // A zone delegated to unresponsive servers: check the records themselves.
    if (zone !== undefined && isFailure(error)) return []
    throw error
  })
  if (areAll(found, new Set(addresses))) return undefined
  if (zone !== undefined && (await isOurs(zone, dns))) return found.length > 0 ? undefined : NO_ADDRESS
  if (zone !== undefined) return notDelegated(zone)
  return `${name} ${whereItLeads(found)}. ${advice ?? addressAdvice(name, addresses)}`
}

const NO_ADDRESS =
  'The DNS server of this server has no addresses to return. Set ADIT_PUBLIC_ADDRESSES to its public ones.'

const areAll = (found: readonly string[], ours: ReadonlySet<string>): boolean =>
  found.length > 0 && found.every(address => ours.has(address))

const whereItLeads = (found: readonly string[]): string =>
  found.length > 0 ? `points to ${found.slice(0, MAX_SHOWN).join(' and ')}` : 'has no address yet'

function addressAdvice(name: string, addresses: readonly string[]): string {
  if (addresses.length === 0)
    return 'This server does not know its public addresses: set ADIT_PUBLIC_ADDRESSES.'
  return `Set in DNS: ${quoted(addresses.map(each => addressRecord(name, each)))}.`
}

const quoted = (records: readonly string[]): string => records.map(record => `"${record}"`).join(', ')

const notDelegated = ({ apex, records, hint }: OwnZone): string =>
  `DNS of ${apex} is not served by this server yet. ` +
  `Set at its registrar, or in the zone above it: ${quoted(records)}.${hint === undefined ? '' : ` ${hint}`}`

/** Only our name servers return these names. */
async function isOurs({ apex, servers }: OwnZone, dns: ZoneDns): Promise<boolean> {
  try {
    const found = await dns.nameServers(apex)
    return servers.some(server => found.includes(server))
  } catch (error) {
    if (isFailure(error)) return false
    throw error
  }
}

/** Resolvers report this for zones whose name servers do not respond, or cannot be found. */
const isFailure = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ESERVFAIL'

async function leadsTo(name: string, target: string, dns: Dns): Promise<boolean> {
  let at = name
  for (let hop = 0; hop < MAX_HOPS; hop++) {
    const next = await dns.cname(at)
    if (next === undefined) return false
    if (next === target) return true
    at = next
  }
  return false
}
