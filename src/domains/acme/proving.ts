import type { ManagedDomain, OwnZone } from '#acme/domains.ts'
import { addressRecord, challengeName } from '#acme/dns-check.ts'
import { isUnder } from '#api/names.ts'
import { nameServers } from '#base/own-names.ts'
import type { agentIngress } from '#contract/kinds/agent-ingress.ts'
import type { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import type { Stored } from '#contract/shape.ts'
import { isLocalName } from '#domains/domain-advice.ts'

/** Common fields of both kinds that certificates are issued for. */
export type Domain = Stored<typeof reservedDomain.shape> | Stored<typeof agentIngress.shape>

/** The public identity of this server. */
export interface DomainEnvironment {
  /** The shared domain. */
  readonly domain: string
  /** Its public addresses. */
  readonly addresses: readonly string[]
  /** Those at which its DNS can be queried. */
  readonly nameServerIps: readonly string[]
  readonly servesDns: boolean
  /** No other server uses the same database, so none serves DNS either. */
  readonly isSoleServer: boolean
}

export type Proving = Pick<
  ManagedDomain,
  'names' | 'cnameTarget' | 'challengeTarget' | 'zone' | 'advice' | 'obstacle'
>

/** The status of a wildcard that waits for its certificate. */
const NO_DNS =
  'Nothing is ordered: wildcards need the DNS challenge, and this server does not serve DNS. Set ADIT_DNS_ADDR, or upload a certificate and set it as certificate_id.'
const OTHER_ANSWERS =
  'This server does not serve DNS: another one of the same database must, or this one with ADIT_DNS_ADDR.'
const MAX_RECORDS = 12

/** The names of the certificate, and their challenges. */
export function provingOf(body: Domain, environment: DomainEnvironment): Proving {
  if ('region_domains' in body) return ofIngress(body, environment)
  const { domain, acme_challenge_cname_target: challenge } = body
  if (domain === environment.domain) return ofOwnDomain(body, environment)
  if (isUnder(domain, environment.domain)) return ofSharedName(domain, environment)
  if (challenge === challengeName(domain) && !domain.startsWith('*.'))
    return { ...byListener([domain]), obstacle: formerDomain(domain, environment.domain) }
  return ofCustomName(body, environment)
}

const byListener = (names: readonly string[]): Proving => ({
  names,
  cnameTarget: undefined,
  challengeTarget: undefined,
})

/** Whether a server of this installation serves DNS, as far as this one knows. */
const mayServeDns = ({ servesDns, isSoleServer }: DomainEnvironment): boolean => servesDns || !isSoleServer

/** Names under these resolve to the machine itself, or nowhere; others may exist in a private network. */
const isNowhere = (domain: string): boolean => /(^|\.)(localhost|invalid)$/.test(domain)

const isLocal = (domain: string): string =>
  `The domain of this server, ${domain}, exists only on this machine, so no DNS record can point to it: start the server with a public domain (ADIT_DOMAIN)`

const noPublicDomain = (domain: string): string =>
  `${isLocal(domain)}, or point A and AAAA records of the name at its public addresses (ADIT_PUBLIC_ADDRESSES).`

const noPublicZone = (domain: string): string =>
  `Nothing is ordered. ${isLocal(domain)} and serve its DNS (ADIT_DNS_ADDR).`

const formerDomain = (domain: string, now: string): string =>
  `Nothing is ordered: ${domain} was the domain of this server, which is ${now} now. Delete this reservation; reserved again it is like any other.`

function ofIngress(body: Stored<typeof agentIngress.shape>, environment: DomainEnvironment): Proving {
  const { domain, ns_targets: servers, region_domains: names } = body
  if (isNowhere(environment.domain))
    return { ...byListener(names), advice: noPublicDomain(environment.domain) }
  if (!mayServeDns(environment)) return byListener(names)
  return { ...byListener(names), zone: zoneOf(domain, servers, environment) }
}

/** With our own DNS one certificate covers all names under it; otherwise each has its own. */
function ofOwnDomain(body: Stored<typeof reservedDomain.shape>, environment: DomainEnvironment): Proving {
  const { domain, acme_challenge_cname_target: challenge } = body
  return challenge === null
    ? byListener([domain])
    : byOwnZone([domain, `*.${domain}`], challengeName(domain), environment)
}

function ofSharedName(domain: string, environment: DomainEnvironment): Proving {
  if (domain.startsWith('*.')) return byOwnZone([domain], challengeName(domain), environment)
  return mayServeDns(environment)
    ? { ...byListener([domain]), zone: sharedZone(environment) }
    : byListener([domain])
}

function ofCustomName(body: Stored<typeof reservedDomain.shape>, environment: DomainEnvironment): Proving {
  const { domain, cname_target: cname, acme_challenge_cname_target: challenge } = body
  const isLost = isNowhere(environment.domain)
  if (challenge !== null) {
    const proving = byOwnZone([domain], challenge, environment)
    return isLost ? { ...proving, obstacle: noPublicZone(environment.domain) } : proving
  }
  return isLost
    ? { ...byListener([domain]), advice: noPublicDomain(environment.domain) }
    : { ...byListener([domain]), cnameTarget: cname ?? undefined }
}

function byOwnZone(
  names: readonly string[],
  challengeTarget: string,
  environment: DomainEnvironment,
): Proving {
  const proving = { names, cnameTarget: undefined, challengeTarget }
  if (!mayServeDns(environment)) return { ...proving, obstacle: NO_DNS }
  // Operators of private networks manage DNS in their own way.
  return isLocalName(environment.domain) ? proving : { ...proving, zone: sharedZone(environment) }
}

const sharedZone = (environment: DomainEnvironment): OwnZone =>
  zoneOf(environment.domain, nameServers(environment.domain), environment)

/** The name servers of a zone, and their addresses if they are in it. */
function zoneOf(
  apex: string,
  servers: readonly string[],
  { nameServerIps, servesDns }: DomainEnvironment,
): OwnZone {
  const inside = servers.filter(server => isUnder(server, apex))
  const records = [
    ...servers.map(server => `${apex} NS ${server}`),
    ...inside.flatMap(server => nameServerIps.map(address => addressRecord(server, address))),
  ]
  return {
    apex,
    servers,
    records: records.slice(0, MAX_RECORDS),
    hint: servesDns ? undefined : OTHER_ANSWERS,
  }
}
