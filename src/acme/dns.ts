import { Resolver } from 'node:dns/promises'
import { canonicalAddress } from '#base/addresses.ts'

/** DNS queries. Each rejects when DNS does not respond, which is not a result for the name. */
export interface Dns {
  /** The target of the name's CNAME record; undefined when it has none. */
  cname(name: string): Promise<string | undefined>
  /** All addresses of the name, CNAME records followed. */
  addresses(name: string): Promise<readonly string[]>
}

/** Further queries to determine the owner of a zone. */
export interface ZoneDns extends Dns {
  /** The name servers of a zone according to themselves; none when the name is not a zone. */
  nameServers(zone: string): Promise<readonly string[]>
}

/** One of several resolvers, asked by itself. */
export interface SingleResolver {
  readonly address: string
  readonly dns: ZoneDns
}

const plain = (name: string): string => name.toLowerCase().replace(/\.$/, '')
const nothing = new Set(['ENODATA', 'ENOTFOUND'])
const TIMEOUT_MS = 2000
const TRIES = 2
const MAX_RESOLVERS = 8

async function orNothing(answers: Promise<string[]>): Promise<string[]> {
  try {
    return await answers
  } catch (error) {
    if (nothing.has(String((error as NodeJS.ErrnoException).code))) return []
    throw error
  }
}

/** The name servers of this machine, or others. */
export function systemDns(servers: readonly string[] = []): ZoneDns {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
  if (servers.length > 0) resolver.setServers(servers)
  return {
    async cname(name) {
      const [target] = await orNothing(resolver.resolveCname(name))
      return target === undefined ? undefined : plain(target)
    },
    async addresses(name) {
      const found = await Promise.all([
        orNothing(resolver.resolve4(name)),
        orNothing(resolver.resolve6(name)),
      ])
      return found.flat().flatMap(address => canonicalAddress(address) ?? [])
    },
    async nameServers(zone) {
      return (await orNothing(resolver.resolveNs(zone))).map(plain)
    },
  }
}

/** Each of the name servers that `systemDns` asks one after the other. */
export function singleResolvers(servers: readonly string[] = []): SingleResolver[] {
  const addresses = servers.length > 0 ? servers : new Resolver().getServers()
  return addresses.slice(0, MAX_RESOLVERS).map(address => ({ address, dns: systemDns([address]) }))
}
