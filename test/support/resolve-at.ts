import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { isIP } from 'node:net'
import { mock } from 'node:test'

const resolvers = new Map<string, dns.Resolver>()
const { lookup: original } = dns
let restore = (): void => undefined

const resolverFor = (name: string): dns.Resolver | undefined =>
  [...resolvers].find(([domain]) => name === domain || name.endsWith(`.${domain}`))?.[1]

function lookup(name: string, options: object, done: (...result: unknown[]) => void): void {
  const resolver = resolverFor(name)
  if (resolver === undefined || isIP(name) !== 0) return original(name, options, done)
  resolver.resolve4(name, (error, found) =>
    done(
      error,
      found?.map(address => ({ address, family: 4 })),
    ),
  )
}

/**
 * The rest of the process finds the names of a domain with these DNS servers, as if it were delegated to them. Tests
 * with different domains can run at the same time.
 */
export function resolveAt(domain: string, servers: readonly string[]): Disposable {
  const resolver = new dns.Resolver()
  resolver.setServers(servers)
  if (resolvers.size === 0) {
    const { mock: mocked } = mock.method(dns, 'lookup', lookup as typeof dns.lookup)
    // For modules that import the function by its name.
    syncBuiltinESMExports()
    restore = () => mocked.restore()
  }
  resolvers.set(domain, resolver)
  return {
    [Symbol.dispose]() {
      resolvers.delete(domain)
      if (resolvers.size > 0) return
      restore()
      syncBuiltinESMExports()
    },
  }
}
