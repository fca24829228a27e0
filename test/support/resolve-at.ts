import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { isIP } from 'node:net'
import { mock } from 'node:test'

/** The rest of the process finds names with these DNS servers, as if the domain were delegated to them. */
export function resolveAt(servers: readonly string[]): Disposable {
  const resolver = new dns.Resolver()
  resolver.setServers(servers)
  const { lookup: original } = dns
  const lookup = (name: string, options: object, done: (...result: unknown[]) => void): void => {
    if (isIP(name) !== 0) return original(name, options, done)
    resolver.resolve4(name, (error, found) =>
      done(
        error,
        found?.map(address => ({ address, family: 4 })),
      ),
    )
  }
  const { mock: mocked } = mock.method(dns, 'lookup', lookup as typeof dns.lookup)
  // For modules that import the function by its name.
  syncBuiltinESMExports()
  return {
    [Symbol.dispose]() {
      mocked.restore()
      syncBuiltinESMExports()
    },
  }
}
