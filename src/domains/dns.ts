import { isIP, isIPv6 } from 'node:net'
import type { networkInterfaces } from 'node:os'
import { canonicalAddress } from '#base/addresses.ts'
import { type SharesPorts, cannotListen } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import { isPublicAddress, machineAddresses } from '#base/machine-addresses.ts'
import { renderMetrics } from '#base/metrics-text.ts'
import { Registry } from '#base/metrics.ts'
import type { AddressSetting } from '#base/setting-values.ts'
import type { Settings } from '#base/settings.ts'
import { results, type Result } from '#dns/responder.ts'
import { DnsServer } from '#dns/server.ts'
import type { Zone } from '#dns/zone.ts'
import type { Source } from '#registry/records/source.ts'
import { dnsKinds, DnsZones } from '#domains/dns-zones.ts'

export interface DnsSide {
  /** Undefined when it is off. */
  readonly bound: AddressSetting | undefined
  /** Warnings for the operator. */
  readonly warnings: readonly string[]
  /** Those that are served now; none when it is off. */
  zones(): Iterable<Zone>
  /** As Prometheus reads them; empty when it is off. */
  metrics(): string
  close(): void
}

/** The addresses of the nodes of a cluster that serve. */
export interface NodeAddresses {
  current(): readonly string[]
  watch(changed: () => void): () => void
}

interface DnsParts {
  readonly log: Log
  readonly sharesPorts?: SharesPorts
  /** Set for a node of a cluster. */
  readonly nodes?: NodeAddresses | undefined
}

const off: DnsSide = {
  bound: undefined,
  warnings: [],
  zones: () => [],
  metrics: () => '',
  close: () => undefined,
}

/** Starts the DNS server, unless it is off. One process serves it for the whole machine. */
export async function startDns(
  settings: Settings,
  source: Source,
  { log, sharesPorts, nodes }: DnsParts,
): Promise<DnsSide> {
  const { dns_addr: address, domain, caa = [] } = settings
  if (address === undefined) return off
  const addresses = publicAddresses(settings)
  const nameServerIps = nameServerAddresses(address, addresses)
  const zones = new DnsZones({
    domain,
    addresses,
    nameServerIps,
    authorities: caa,
    ...(nodes && { nodes: () => nodes.current() }),
  })
  const registry = new Registry()
  const server = new DnsServer({
    zones,
    log,
    counted: counter(registry),
    ...(sharesPorts && { sharesPorts }),
  })
  const unfollowRows = await source.watch(dnsKinds, zones)
  const unwatchNodes = nodes?.watch(() => zones.nodesChanged())
  const unfollow = (): void => {
    unfollowRows()
    unwatchNodes?.()
  }
  const bound = await server.listen(address).catch((error: unknown) => {
    unfollow()
    throw cannotListen(error, address, 'ADIT_DNS_ADDR')
  })
  return {
    bound,
    warnings: addresses.length > 0 ? [] : [NO_ADDRESS],
    zones: () => zones.all(),
    metrics: () => renderMetrics(registry.snapshot()),
    close() {
      unfollow()
      server.close()
    },
  }
}

const NO_ADDRESS =
  'DNS has no addresses to return: this machine has no public address. Set ADIT_PUBLIC_ADDRESSES to its public ones.'

function counter(registry: Registry): (result: Result) => void {
  const family = registry.counters('adit_dns_queries_total', 'Queries to the DNS server.', ['result'])
  const counters = Object.fromEntries(results.map(result => [result, family.with(result)]))
  return result => counters[result]?.add()
}

/** The public addresses at which DNS can be queried: it may be bound to one of them. */
export function nameServerAddresses(
  dns: AddressSetting | undefined,
  addresses: readonly string[],
): readonly string[] {
  const host = canonicalAddress(dns?.host ?? '')
  return host !== undefined && addresses.includes(host) ? [host] : addresses
}

/** The addresses for clients and agents: the configured ones, else those of the listeners. */
export function publicAddresses(
  settings: Pick<Settings, 'public_addresses' | 'https_addr' | 'http_addr'>,
  interfaces?: typeof networkInterfaces,
): readonly string[] {
  if (settings.public_addresses !== undefined) return settings.public_addresses
  const host = (settings.https_addr ?? settings.http_addr)?.host ?? ''
  if (host !== '0.0.0.0' && host !== '::') return isIP(host) === 0 ? [] : [host]
  // For a wildcard bind: the public addresses of the machine. `::` includes IPv4.
  return machineAddresses(interfaces).filter(
    address => (host === '::' || !isIPv6(address)) && isPublicAddress(address),
  )
}
