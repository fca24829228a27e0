import type { Log } from '#base/log.ts'
import { tunnelBackend } from '#gateway/backends/tunnel.ts'
import type { Directory, TunnelRecord } from '#gateway/directory.ts'
import { chain, type Endpoint, type Exchange, type Reply } from '#gateway/exchange.ts'
import type { Facts } from '#gateway/facts.ts'
import { DialError, type Fleet } from '#gateway/fleet.ts'
import type { Upstream } from '#gateway/listeners/forward.ts'
import type { TlsRoute } from '#gateway/listeners/https.ts'
import { tunnelModules } from '#gateway/modules/index.ts'
import { hasReturned } from '#gateway/http/forwarded.ts'
import { errorReply, redirectReply } from '#gateway/pages.ts'
import type { ClosableEndpoint, MakeBackend } from '#gateway/plan/compiled.ts'
import { Edges } from '#gateway/plan/edges.ts'
import { terminationIdentity } from '#gateway/plan/tls-termination.ts'
import { TunnelIndex } from '#gateway/plan/tunnel-index.ts'
import { tunnelUpstream } from '#gateway/plan/upstreams.ts'
import type { Records } from '#gateway/records/records.ts'
import type { SourceRow } from '#gateway/records/source.ts'
import { wildcardsOver } from '#gateway/wildcards.ts'

export interface RouterOptions {
  readonly facts: Facts
  readonly records: Records
  readonly directory: Directory
  readonly fleet: Fleet
  /** Tunnels are reached by `tunnelBackend` unless told. */
  readonly backend?: MakeBackend
  readonly log: Log
}

type Owner =
  | { readonly kind: 'edge'; readonly id: string; readonly row: SourceRow }
  | { readonly kind: 'tunnel'; readonly id: string; readonly tunnel: TunnelRecord }

interface Compiled {
  readonly tunnel: TunnelRecord
  readonly endpoint: ClosableEndpoint
  readonly chained: Endpoint
}

// A restriction that is not enforced is told of now and then, not for every visitor.
const WARN_EVERY_MS = 1000

/** Says what answers a visitor. Edges come before tunnels, and a name before the wildcards over it. */
export class Router {
  readonly #options: RouterOptions
  readonly #index: TunnelIndex
  readonly #edges: Edges
  readonly #backend: MakeBackend
  readonly #endpoints = new Map<string, Compiled>()
  readonly #upstreams = new Map<string, { readonly tunnel: TunnelRecord; readonly upstream: Upstream }>()
  readonly #stop: () => void
  readonly #offline: Endpoint
  readonly #redirect: Endpoint
  #warnedAt = -Infinity

  constructor(options: RouterOptions) {
    this.#options = options
    this.#index = new TunnelIndex(options.directory, options.facts.node)
    this.#backend = options.backend ?? ((tunnel, fleet) => tunnelBackend({ tunnel, fleet }))
    this.#edges = new Edges({ ...options, index: this.#index, backend: this.#backend })
    this.#stop = options.directory.watch({ removed: ({ id }) => this.#forget(id) })
    const { facts } = options
    const { domain } = facts
    this.#offline = async ({ head }) => errorReply('endpoint_offline', head, { domain })
    this.#redirect = async ({ head }) => {
      const target = head.target.startsWith('/') ? head.target : '/'
      // Known only once the listener is open.
      const port = facts.httpsPort === 443 ? '' : `:${facts.httpsPort}`
      return redirectReply(`https://${head.host}${port}${target}`, 308)
    }
  }

  close(): void {
    this.#stop()
    this.#index.close()
    this.#edges.close()
    for (const id of this.#endpoints.keys()) this.#forget(id)
  }

  /** Answers a request: who may not visit is refused, and so is a request for another name than its connection. */
  readonly answer: Endpoint = exchange => {
    try {
      return this.#answer(exchange)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #answer(exchange: Exchange): Promise<Reply> {
    const { visitor, head } = exchange
    const refusal = this.#refusal(exchange)
    return refusal ? Promise.resolve(refusal) : this.http(visitor.scheme, head.host, head.path)(exchange)
  }

  http(scheme: 'http' | 'https', host: string, path: string): Endpoint {
    const owner = this.#owner(scheme, host)
    if (owner?.kind === 'tunnel') return this.#endpoint(owner.tunnel)
    if (owner?.kind === 'edge') return this.#edges.http(owner.row, host, path)
    const isSecured = scheme === 'http' && this.#options.facts.httpsPort !== undefined
    return isSecured && this.#owner('https', host) !== undefined ? this.#redirect : this.#offline
  }

  /** What is done with a TLS connection. A name that nothing answers for is served by HTTP, which says so. */
  serverName(name: string | undefined, ip: string): TlsRoute {
    const owner = name === undefined ? undefined : this.#owner('tls', name)
    if (owner === undefined) return { kind: 'http' }
    if (!this.#mayVisit(ip, name ?? '')) return { kind: 'refused' }
    if (owner.kind === 'tunnel') return this.#tlsTunnel(owner.tunnel)
    const upstream = this.#edges.upstream(owner.row)
    return upstream === undefined ? { kind: 'refused' } : { kind: 'passthrough', upstream }
  }

  /** Where connections on a port go; each finds what is there when it comes. */
  tcp(port: number): Upstream | undefined {
    const edge = this.#options.records.edgeForPort(port)
    const tunnel = edge === undefined ? this.#index.onPort(port) : undefined
    if (edge === undefined && tunnel === undefined) return undefined
    const upstream = edge === undefined ? tunnel && this.#upstream(tunnel) : this.#edges.upstream(edge)
    return {
      ...(upstream?.proxyProtocol !== undefined && { proxyProtocol: upstream.proxyProtocol }),
      dial: async (visitor, first) => {
        if (upstream === undefined || !this.#mayVisit(visitor.ip, `port ${port}`))
          throw new DialError('offline', `Nothing on port ${port} is served for ${visitor.ip}.`)
        return upstream.dial(visitor, first)
      },
    }
  }

  /** Whether a name is answered for, so that it may have a certificate. */
  serves(name: string): boolean {
    return (this.#owner('https', name) ?? this.#owner('tls', name)) !== undefined
  }

  #owner(scheme: 'http' | 'https' | 'tls', name: string): Owner | undefined {
    const exact = this.#ownerOf(scheme, name)
    if (exact !== undefined) return exact
    for (const wildcard of wildcardsOver(name)) {
      const owner = this.#ownerOf(scheme, wildcard)
      if (owner !== undefined) return owner
    }
    return undefined
  }

  #ownerOf(scheme: 'http' | 'https' | 'tls', name: string): Owner | undefined {
    const row = scheme === 'http' ? undefined : this.#options.records.edgeNamed(name)
    if (row?.kind === `${scheme}_edge`) return { kind: 'edge', id: row.id, row }
    // An edge of the other protocol has the name for itself.
    const tunnel = row === undefined ? this.#index.named(scheme, name) : undefined
    return tunnel && { kind: 'tunnel', id: tunnel.id, tunnel }
  }

  #refusal({ visitor, head }: Exchange): Reply | undefined {
    const { serverName, scheme, ip } = visitor
    if (scheme === 'https' && serverName !== undefined && serverName !== head.host) {
      // One edge may have several names, and browsers use one connection for all that a certificate covers.
      if (this.#owner('https', serverName)?.id !== this.#owner('https', head.host)?.id)
        return errorReply('misdirected', head)
    }
    if (hasReturned(head)) return errorReply('request_returned', head)
    return this.#mayVisit(ip, head.host) ? undefined : errorReply('visitor_refused', head, { ip })
  }

  #mayVisit(ip: string, what: string): boolean {
    const restriction = this.#options.records.restriction('endpoints')
    if (restriction === undefined || restriction.allows(ip)) return true
    if (!restriction.enforced && performance.now() - this.#warnedAt > WARN_EVERY_MS) {
      this.#warnedAt = performance.now()
      this.#options.log.warn({ ip, what }, 'an IP restriction that is not enforced would refuse this visitor')
    }
    return !restriction.enforced
  }

  #endpoint(tunnel: TunnelRecord): Endpoint {
    const known = this.#endpoints.get(tunnel.id)
    if (known?.tunnel === tunnel) return known.chained
    known?.endpoint.close()
    const endpoint = this.#backend(tunnel, this.#options.fleet)
    const chained = chain(tunnelModules(tunnel.options), endpoint)
    this.#endpoints.set(tunnel.id, { tunnel, endpoint, chained })
    return chained
  }

  #upstream(tunnel: TunnelRecord): Upstream {
    const known = this.#upstreams.get(tunnel.id)
    if (known?.tunnel === tunnel) return known.upstream
    const upstream = tunnelUpstream(tunnel, this.#options.fleet)
    this.#upstreams.set(tunnel.id, { tunnel, upstream })
    return upstream
  }

  #tlsTunnel(tunnel: TunnelRecord): TlsRoute {
    const upstream = this.#upstream(tunnel)
    const { TLSTermination } = tunnel.options
    if (TLSTermination === null) return { kind: 'passthrough', upstream }
    const identity = terminationIdentity(TLSTermination)
    return { kind: 'terminated', upstream, ...(identity && { terms: { identity } }) }
  }

  #forget(id: string): void {
    this.#endpoints.get(id)?.endpoint.close()
    this.#endpoints.delete(id)
    this.#upstreams.delete(id)
  }
}
