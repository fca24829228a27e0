import { isIPv6 } from 'node:net'
import type { Dns, ZoneDns } from '#acme/dns.ts'
import type { ManagedDomain, OwnZone } from '#acme/domains.ts'

const MAX_HOPS = 10
const MAX_SHOWN = 3

/** Does DNS lead here? If not, these are the words that tell what to set. */
export type Proof = { readonly proven: true } | { readonly proven: false; readonly missing: string }

export interface ProofOptions {
  readonly dns: ZoneDns
  /** Addresses of this server that DNS of the shared domain need not know. */
  readonly addresses?: readonly string[]
}

/** Whoever can set these records has the name: nobody else's is ordered, however often it is reserved. */
export async function proofOf(domain: ManagedDomain, options: ProofOptions): Promise<Proof> {
  const missing = await (domain.challengeTarget === undefined
    ? missingVisits(domain, options)
    : missingChallenges(domain, domain.challengeTarget, options))
  return missing === undefined ? { proven: true } : { proven: false, missing }
}

/** The name that proves a wildcard, and the plain name that it is about. */
export const challengeName = (name: string): string => `_acme-challenge.${name.replace(/^\*\./, '')}`

/** A record as a line of a zone. */
export const addressRecord = (name: string, address: string): string =>
  `${name} ${isIPv6(address) ? 'AAAA' : 'A'} ${address}`

async function missingChallenges(
  { names, zone }: ManagedDomain,
  target: string,
  { dns }: ProofOptions,
): Promise<string | undefined> {
  for (const name of names) {
    const asked = challengeName(name)
    if (asked !== target && !(await leadsTo(asked, target, dns)))
      return `The certificate of ${name} needs the DNS record "${asked} CNAME ${target}", which is not there yet.`
  }
  return zone === undefined || (await isOurs(zone, dns)) ? undefined : notDelegated(zone)
}

async function missingVisits(domain: ManagedDomain, options: ProofOptions): Promise<string | undefined> {
  for (const name of domain.names) {
    const { cnameTarget } = domain
    const missing = await (cnameTarget === undefined
      ? missingAddress(name, domain, options)
      : missingAlias(name, cnameTarget, options))
    if (missing !== undefined) return missing
  }
  return undefined
}

/** For a name that leads here by a CNAME record, or by the addresses of the target. */
async function missingAlias(
  name: string,
  target: string,
  { dns, addresses = [] }: ProofOptions,
): Promise<string | undefined> {
  const found = await dns.addresses(name)
  if (await leadsTo(name, target, dns)) {
    if (found.length > 0) return undefined
    return `${name} leads to ${target}, which has no address yet: the domain of this server must lead here, too.`
  }
  const ours = new Set([...addresses, ...(found.length > 0 ? await dns.addresses(target) : [])])
  if (areAll(found, ours)) return undefined
  return (
    `${name} ${whereItLeads(found)}. Set the DNS record "${name} CNAME ${target}"; ` +
    'at the top of a zone, where no CNAME can stand, set A and AAAA records with the addresses of that name.'
  )
}

/** For a name in a zone that is ours or to be, and for one that has addresses alone to lead here by. */
async function missingAddress(
  name: string,
  { zone, advice }: ManagedDomain,
  { dns, addresses = [] }: ProofOptions,
): Promise<string | undefined> {
  const found = await dns.addresses(name).catch((error: unknown) => {
    // A zone that is delegated to nobody who answers: the records themselves are to be looked at.
    if (zone !== undefined && isFailure(error)) return []
    throw error
  })
  if (areAll(found, new Set(addresses))) return undefined
  if (zone !== undefined && (await isOurs(zone, dns))) return found.length > 0 ? undefined : NO_ADDRESS
  if (zone !== undefined) return notDelegated(zone)
  return `${name} ${whereItLeads(found)}. ${advice ?? addressAdvice(name, addresses)}`
}

const NO_ADDRESS =
  'DNS of this server answers no addresses. Set ADIT_PUBLIC_ADDRESSES to those that lead to it.'

const areAll = (found: readonly string[], ours: ReadonlySet<string>): boolean =>
  found.length > 0 && found.every(address => ours.has(address))

const whereItLeads = (found: readonly string[]): string =>
  found.length > 0 ? `leads to ${found.slice(0, MAX_SHOWN).join(' and ')}` : 'has no address yet'

function addressAdvice(name: string, addresses: readonly string[]): string {
  if (addresses.length === 0)
    return 'This server does not know by which addresses it is reached: set ADIT_PUBLIC_ADDRESSES to them.'
  return `Set in DNS: ${quoted(addresses.map(each => addressRecord(name, each)))}.`
}

const quoted = (records: readonly string[]): string => records.map(record => `"${record}"`).join(', ')

const notDelegated = ({ apex, records, hint }: OwnZone): string =>
  `DNS of ${apex} is not answered by this server yet. ` +
  `Set at its registrar, or in the zone above it: ${quoted(records)}.${hint === undefined ? '' : ` ${hint}`}`

/** Name servers tell of themselves what we have them tell, so nobody's answer but ours has these names. */
async function isOurs({ apex, servers }: OwnZone, dns: ZoneDns): Promise<boolean> {
  try {
    const found = await dns.nameServers(apex)
    return servers.some(server => found.includes(server))
  } catch (error) {
    if (isFailure(error)) return false
    throw error
  }
}

/** Resolvers say so of zones whose name servers do not answer, or cannot be found. */
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
