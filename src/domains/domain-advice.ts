import { isIPv6 } from 'node:net'
import { isLoopback, isPublicAddress } from '#base/machine-addresses.ts'
import { nameServers } from '#base/own-names.ts'
import { dnsHost } from '#base/public-defaults.ts'
import { isPublicName } from '#base/public-suffix.ts'
import type { AddressSetting } from '#base/setting-values.ts'
import type { Settings } from '#base/settings.ts'
import { nameServerAddresses, publicAddresses } from '#domains/dns.ts'

export interface PublicDomain {
  readonly domain: string
  /** The public addresses of this server; empty when unknown. */
  readonly addresses: readonly string[]
  /** Whether the server serves DNS for the domain. */
  readonly servesDns: boolean
  /** At which of the addresses it does. */
  readonly nameServerIps: readonly string[]
  /** Where it could; undefined if the machine has no public address. */
  readonly dnsHost: string | undefined
  /** What prevents public access, and what to do, as lines; empty when nothing is known. */
  readonly missing: readonly string[]
}

interface PublicDomainOptions {
  readonly settings: Pick<Settings, 'domain' | 'public_addresses' | 'http_addr' | 'https_addr' | 'agent_addr'>
  /** Where the DNS server listens. */
  readonly dns: AddressSetting | undefined
  /** The addresses of this machine. */
  readonly machine: readonly string[]
}

/** Placeholder in records for an address that only the operator knows. */
const UNKNOWN = 'ADDRESS'

/** Names under these are local; no DNS is needed for them. */
export const isLocalName = (domain: string): boolean =>
  /(^|\.)(localhost|test|invalid|internal)$/.test(domain)

/** How the shared domain can be reached from the internet. */
export function publicDomain({ settings, dns, machine }: PublicDomainOptions): PublicDomain {
  const { domain, public_addresses: given } = settings
  const isPublic = isPublicName(domain)
  const usable = (address: string): boolean => (isPublic ? isPublicAddress(address) : !isLoopback(address))
  const listened = publicAddresses(settings).filter(usable)
  const found = listened.length > 0 ? listened : machine.filter(isPublicAddress)
  const addresses = given ?? found
  const missing = given === undefined ? whatIsMissing({ settings, dns, addresses, isPublic }) : []
  return {
    domain,
    addresses,
    servesDns: dns !== undefined,
    nameServerIps: nameServerAddresses(dns, addresses),
    dnsHost: dnsHost(addresses, machine),
    missing,
  }
}

interface Barriers extends Omit<PublicDomainOptions, 'machine'> {
  readonly addresses: readonly string[]
  readonly isPublic: boolean
}

function whatIsMissing({ settings, dns, addresses, isPublic }: Barriers): string[] {
  const { domain, http_addr: http, https_addr: https, agent_addr: agent } = settings
  const isHidden = (address: AddressSetting | undefined): boolean =>
    address !== undefined && isLoopback(address.host)
  const unreachable = `  ${domain} cannot be reached yet:`
  const anyHidden = [http, https, dns].some(isHidden)
  if (addresses.length === 0 && (isPublic || !anyHidden))
    return [
      `${unreachable} this machine has no public address. Start it with its public one:`,
      '',
      `    ADIT_PUBLIC_ADDRESSES=${UNKNOWN}`,
      '',
      ...(anyHidden ? ['  Listeners that are not configured are then open to the internet.', ''] : []),
    ]
  if (!anyHidden) return []
  const open = [
    ...(isHidden(http) ? ['ADIT_HTTP_ADDR=0.0.0.0:80'] : []),
    ...(isHidden(https) ? ['ADIT_HTTPS_ADDR=0.0.0.0:443'] : []),
    ...(isHidden(agent) ? ['ADIT_AGENT_ADDR=0.0.0.0:4443'] : []),
    ...(isHidden(dns) ? [`ADIT_DNS_ADDR=${addresses[0] ?? UNKNOWN}:53`] : []),
  ]
  return [
    `${unreachable} these listen only on this machine. Start it with`,
    '',
    `    ${open.join(' ')}`,
    '',
    '  or, behind a proxy or NAT, with ADIT_PUBLIC_ADDRESSES.',
    '',
  ]
}

type RecordTarget = Pick<PublicDomain, 'domain' | 'addresses' | 'servesDns' | 'nameServerIps'>

/** A record in the form that registrars ask for. */
type DnsRecord = readonly [name: string, type: string, value: string]

const addressRecord = (name: string, address: string): DnsRecord => [
  name,
  isIPv6(address) ? 'AAAA' : 'A',
  address,
]

/** The records that point the domain to this server. */
export function dnsRecords({ domain, addresses, servesDns, nameServerIps }: RecordTarget): DnsRecord[] {
  const addressRecords = (names: readonly string[], to: readonly string[]): DnsRecord[] =>
    names.flatMap(name => to.map(address => addressRecord(name, address)))
  if (!servesDns) return addressRecords([domain, `*.${domain}`], addresses)
  const servers = nameServers(domain)
  return [
    ...servers.map(server => [domain, 'NS', server] as const),
    ...addressRecords(servers, nameServerIps),
  ]
}

/** These records in columns. */
function table(target: RecordTarget): string[] {
  const records = dnsRecords(target)
  const width = Math.max(...records.map(([name]) => name.length))
  return [
    '',
    ...records.map(([name, type, value]) => `    ${name.padEnd(width)}  ${type.padEnd(4)}  ${value}`),
    '',
  ]
}

/** What to set in DNS, and what else to do, in words. */
export function domainAdvice(target: PublicDomain): string[] {
  const { domain, addresses, servesDns, missing } = target
  if (isLocalName(domain)) return []
  const known = addresses.length > 0 ? target : { ...target, addresses: [UNKNOWN], nameServerIps: [UNKNOWN] }
  // A restart can use other settings.
  if (addresses.length === 0 && !servesDns) return [...missing, ...bothWays(known)]
  return [...missing, ...(servesDns ? delegation(known) : plainRecords(known))]
}

const delegation = (target: PublicDomain): string[] => [
  `  Delegate ${target.domain} to this server. Set at its registrar, or in the zone above it:`,
  ...table(target),
  '  To keep its DNS elsewhere, start with ADIT_DNS_ADDR=off: other records are needed then.',
  '',
]

const plainRecords = (target: PublicDomain): string[] => [
  `  Set these records in the DNS of ${target.domain}:`,
  ...table(target),
  `  With ADIT_DNS_ADDR=${bracketed(target.dnsHost ?? 'HOST')}:53 this server serves its DNS, and gets a certificate`,
  '  for all its names.',
  '',
]

const bothWays = (target: PublicDomain): string[] => [
  `  If this server serves DNS (ADIT_DNS_ADDR), set at the registrar of ${target.domain}, or in the zone above it:`,
  ...table({ ...target, servesDns: true }),
  `  Otherwise (ADIT_DNS_ADDR=off) set in the DNS of ${target.domain}:`,
  ...table({ ...target, servesDns: false }),
]

const bracketed = (host: string): string => (isIPv6(host) ? `[${host}]` : host)
