import { endpointConfiguration } from '#contract/kinds/endpoint-configuration.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Endpoint } from '#http/exchange.ts'
import { DialError } from '#registry/agent-dialer.ts'
import type { L4Upstream } from '#gateway/listeners/l4-proxy.ts'
import type { TlsRoute } from '#gateway/listeners/https.ts'
import { type Modules, optionsOf } from '#gateway/modules/index.ts'
import { DependencyCache } from '#gateway/routing/dependency-cache.ts'
import type { CompiledEndpoint, Compiler, DependsOn } from '#gateway/routing/compiler.ts'
import { signInRealmOf } from '#gateway/routing/sign-in-realm.ts'
import { tlsConfigOf } from '#gateway/routing/tls-config.ts'
import { usageAt } from '#gateway/routing/usage.ts'
import { textOf } from '#registry/records/keys.ts'
import { filtered } from '#gateway/routing/upstreams.ts'
import type { Records } from '#registry/records/records.ts'
import { reservedAddr } from '#contract/kinds/reserved-addr.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import type { RowOf, SourceRow } from '#registry/records/source.ts'

const fields = {
  http: 'http_endpoint_configuration',
  https: 'https_endpoint_configuration',
  tcp: 'endpoint_configuration',
} as const

type Configured = keyof typeof fields

type ConfigurationRow = RowOf<typeof endpointConfiguration>

/** The endpoint configuration of a reserved domain or address for a protocol. */
function configurationAt(
  reservation: SourceRow,
  proto: Configured,
  records: Records,
): ConfigurationRow | undefined {
  const id = reservation.body[fields[proto]]
  return typeof id === 'string' ? records.get(endpointConfiguration, id) : undefined
}

/** The endpoint configuration in front of a tunnel. */
export function configurationOf(
  { address, domainId, addrId }: TunnelRecord,
  records: Records,
  dependsOn: DependsOn,
): ConfigurationRow | undefined {
  if (address === undefined || address.scheme === 'tls') return undefined
  const isTcp = address.scheme === 'tcp'
  const id = isTcp ? addrId : domainId
  if (id === undefined) return undefined
  dependsOn(id)
  const reservation = isTcp ? records.get(reservedAddr, id) : records.get(reservedDomain, id)
  const configuration = reservation && configurationAt(reservation, address.scheme, records)
  if (configuration) dependsOn(configuration.id)
  return configuration
}

interface EndpointConfigurationsOptions {
  readonly records: Records
  readonly compiler: Compiler
  readonly modules: Modules
}

interface CompiledUpstream {
  readonly upstream: L4Upstream | undefined
  close(): void
}

interface CompiledTls {
  readonly route: TlsRoute
  /** Responds where TLS cannot be served as configured. */
  readonly fault?: Endpoint
  close(): void
}

const nothing = (): void => undefined

/** The port stays open, so that the address is kept, and connections are closed. */
const unservable: L4Upstream = {
  dial: async () => {
    throw new DialError('offline', 'The address cannot be served as configured.')
  },
}

/** Domains and addresses that respond without an agent, because their configuration has a backend. */
export class EndpointConfigurations {
  readonly #options: EndpointConfigurationsOptions
  readonly #endpoints: DependencyCache<CompiledEndpoint>
  readonly #upstreams: DependencyCache<CompiledUpstream>
  readonly #tlsConfigs: DependencyCache<CompiledTls>

  constructor(options: EndpointConfigurationsOptions) {
    this.#options = options
    const { records, compiler } = options
    this.#endpoints = new DependencyCache(records, (error, id) => compiler.unservable(error, id))
    this.#upstreams = new DependencyCache(records, (error, id) => {
      compiler.unservable(error, id)
      return { upstream: unservable, close: nothing }
    })
    // Every request then gets the reason, which needs no TLS options.
    this.#tlsConfigs = new DependencyCache(records, (error, id) => ({
      route: { kind: 'http' },
      fault: compiler.unservable(error, id).answer,
      close: nothing,
    }))
  }

  /** The settings that modules are built from have changed. */
  recompile(): void {
    this.#endpoints.clear()
  }

  close(): void {
    this.#endpoints.close()
    this.#upstreams.close()
    this.#tlsConfigs.close()
  }

  /** The reserved domain of exactly this name, if it has its own backend. */
  domain(scheme: 'http' | 'https', name: string): SourceRow | undefined {
    const row = this.#options.records.domainNamed(name)
    return row && this.#answering(row, scheme) && row
  }

  http(domain: SourceRow, scheme: 'http' | 'https'): Endpoint {
    const fault = scheme === 'https' ? this.#tls(domain).fault : undefined
    if (fault !== undefined) return fault
    return this.#endpoints.get(`${scheme} ${domain.id}`, uses => {
      uses(domain.id)
      const configuration = this.#answering(domain, scheme)
      if (configuration) uses(configuration.id)
      const { compiler } = this.#options
      const rows = configuration ? [configuration] : []
      const place = { id: domain.id, usage: usageAt(domain), ownerId: textOf(domain, 'owner_id') }
      return compiler.endpoint({ rows }, place, () =>
        configuration ? compiler.backend(configuration, { edge: 'https' }, uses) : undefined,
      )
    }).answer
  }

  /** The configuration that requires sign-in at a domain. */
  signInRealm(domain: SourceRow, scheme: 'http' | 'https'): string | undefined {
    const configuration = this.#answering(domain, scheme)
    return configuration && signInRealmOf({ rows: [configuration] })
  }

  tls(domain: SourceRow): TlsRoute {
    return this.#tls(domain).route
  }

  #tls(domain: SourceRow): CompiledTls {
    return this.#tlsConfigs.get(domain.id, uses => {
      const configuration = this.#answering(domain, 'https')
      if (configuration === undefined) return { route: { kind: 'http' }, close: nothing }
      uses(configuration.id)
      const config = tlsConfigOf(configuration, this.#options.records, uses, domain.id)
      return { route: { kind: 'http', config }, close: nothing }
    })
  }

  /** The backend of the reserved address of a port. */
  tcp(port: number): L4Upstream | undefined {
    const { records, compiler, modules } = this.#options
    const addr = records.reservedAddr(port)
    const configuration = addr && this.#answering(addr, 'tcp')
    if (addr === undefined || configuration === undefined) return undefined
    return this.#upstreams.get(addr.id, uses => {
      uses(configuration.id)
      const allows = modules.connectionFilterOf(configuration)
      const backend = compiler.backend(configuration, { edge: 'tcp' }, uses)
      const dial = backend?.dial
      return {
        upstream: dial && filtered({ dial, usage: usageAt(addr) }, allows),
        close: () => backend?.close(),
      }
    }).upstream
  }

  #answering(reservation: SourceRow, proto: Configured): SourceRow | undefined {
    const configuration = configurationAt(reservation, proto, this.#options.records)
    return configuration && optionsOf(configuration, 'backend') ? configuration : undefined
  }
}
