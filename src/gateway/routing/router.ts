import type { Egress } from '#base/egress.ts'
import type { Log } from '#base/log.ts'
import { httpChallenge } from '#gateway/acme/http-challenge.ts'
import { tunnelBackend } from '#gateway/backends/tunnel.ts'
import type { Directory, TunnelRecord } from '#registry/directory.ts'
import type { Endpoint, Exchange, Handler, Reply } from '#http/exchange.ts'
import type { ClientCertificate } from '#http/client-certificate.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import type { L4Upstream } from '#gateway/listeners/l4-proxy.ts'
import type { TlsRoute } from '#gateway/listeners/https.ts'
import { hasReturned } from '#http/forwarded.ts'
import type { RequestHead } from '#http/head.ts'
import type { Modules } from '#gateway/modules/index.ts'
import { errorReply, redirectReply } from '#http/pages.ts'
import { LinkLoss } from '#gateway/routing/link-loss.ts'
import type { ClosableEndpoint, MakeBackend } from '#gateway/backends/backend.ts'
import { apiRoute } from '#gateway/routing/api-route.ts'
import { type CompiledEndpoint, Compiler } from '#gateway/routing/compiler.ts'
import { EndpointConfigurations } from '#gateway/routing/endpoint-configurations.ts'
import { Edges } from '#gateway/routing/edges.ts'
import { planned } from '#gateway/routing/plan.ts'
import { RecentNames, type RecentOptions } from '#gateway/routing/recent-names.ts'
import { TunnelIndex } from '#registry/tunnel-index.ts'
import { Tunnels } from '#gateway/routing/tunnels.ts'
import type { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { Captures } from '#telemetry/capture/captures.ts'
import { stillHolds } from '#tls/client-proof.ts'
import { wildcardsOver } from '#base/hosts.ts'

export interface RouterOptions {
  readonly info: GatewayInfo
  readonly records: Records
  readonly directory: Directory
  readonly dialer: AgentDialer
  readonly modules: Modules
  /** Records requests; absent: none. */
  readonly captures?: Pick<Captures, 'isActive' | 'asked'> | undefined
  readonly egress: Egress
  /** Serves the sign-in callback host. */
  readonly central?: (head: RequestHead) => Handler | undefined
  /** Serves the API of this server at names of its own. */
  readonly api?: { readonly hosts: ReadonlySet<string>; readonly backend: ClosableEndpoint } | undefined
  /** Default `tunnelBackend`. */
  readonly backend?: MakeBackend
  readonly recent?: RecentOptions
  readonly log: Log
}

/** The server itself; its names belong to no endpoint, whatever wildcards there are. */
const API = { kind: 'api', id: 'api' } as const

const edgeKinds = { http: undefined, https: 'https_edge', tls: 'tls_edge' } as const

type Owner =
  | { readonly kind: 'edge'; readonly id: string; readonly row: SourceRow }
  | { readonly kind: 'tunnel'; readonly id: string; readonly tunnel: TunnelRecord }
  /** A reserved domain whose configuration has its own backend. */
  | { readonly kind: 'domain'; readonly id: string; readonly row: SourceRow }
  | typeof API

export interface NameOwner {
  readonly name: string
  readonly owner: Owner
}

// Violations of an unenforced restriction are logged now and then, not for every client.
const WARN_EVERY_MS = 1000

/**
 * Finds the handler for a client. Edges come before tunnels, and an exact name before wildcards. An HTTPS client is routed
 * twice: by its SNI name to how TLS is terminated, and each request by its Host to an endpoint; the two may differ.
 */
export class Router {
  readonly #options: RouterOptions
  readonly #index: TunnelIndex
  readonly #recent: RecentNames
  readonly #edges: Edges
  readonly #tunnels: Tunnels
  readonly #configurations: EndpointConfigurations
  readonly #linkLoss: LinkLoss
  readonly #offline: Endpoint
  readonly #api: Endpoint | undefined
  readonly #redirect: Endpoint
  #warnedAt = -Infinity

  constructor(options: RouterOptions) {
    this.#options = options
    const { info, directory } = options
    const index = (this.#index = new TunnelIndex(directory, info.node))
    const makeTunnel: MakeBackend = options.backend ?? ((tunnel, dialer) => tunnelBackend({ tunnel, dialer }))
    const compiler = new Compiler({ ...options, index, makeTunnel })
    this.#edges = new Edges({ ...options, compiler })
    this.#tunnels = new Tunnels({ ...options, index, compiler, makeTunnel })
    this.#configurations = new EndpointConfigurations({ ...options, compiler })
    const { domain } = info
    const recent = (this.#recent = new RecentNames(directory, options.recent))
    this.#linkLoss = new LinkLoss({ ...options, index, waitMs: info.reconnect_wait * 1000, recent })
    const offline: Endpoint = async ({ head }) =>
      recent.has(head.host)
        ? { ...errorReply('endpoint_expected', head, { domain }), failure: 'not-sent' }
        : errorReply('endpoint_offline', head, { domain })
    this.#offline = planned(offline, { error: { code: 'endpoint_offline' } })
    const redirect: Endpoint = async ({ head }) => {
      const target = head.target.startsWith('/') ? head.target : '/'
      // Known only once the listener is open.
      const port = info.httpsPort === 443 ? '' : `:${info.httpsPort}`
      return redirectReply(`https://${head.host}${port}${target}`, 308)
    }
    this.#redirect = planned(redirect, { redirects: true })
    this.#api = options.api && apiRoute(options.api.backend)
  }

  /** The settings that modules are built from have changed. */
  recompile(): void {
    this.#edges.recompile()
    this.#tunnels.recompile()
    this.#configurations.recompile()
  }

  close(): void {
    this.#index.close()
    this.#recent.close()
    this.#linkLoss.close()
    this.#edges.close()
    this.#tunnels.close()
    this.#configurations.close()
    this.#options.api?.backend.close()
  }

  /**
   * Handles a request: clients that are not allowed are rejected, and so are requests for another host than that of
   * their connection.
   */
  readonly answer: Endpoint = exchange => {
    try {
      return this.#answer(exchange)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #answer(exchange: Exchange): Promise<Reply> {
    const { client, head } = exchange
    const refusal = httpChallenge(exchange, this.#options.records) ?? this.#refusal(exchange)
    if (refusal) return Promise.resolve(refusal)
    const central = this.#options.central?.(head)
    if (central !== undefined) return central(exchange, this.#offline)
    const replying = this.http(client.scheme, head.host, head.path)(exchange)
    return replying.then(reply => (reply.failure === undefined ? reply : this.#recover(exchange, reply)))
  }

  #recover(exchange: Exchange, reply: Reply): Promise<Reply> {
    const { client, head } = exchange
    const route = (): Promise<Reply> => this.http(client.scheme, head.host, head.path)(exchange)
    return this.#linkLoss.recover(exchange, reply, route)
  }

  http(scheme: 'http' | 'https', host: string, path: string): Endpoint {
    const found = scheme === 'https' ? this.#edges.atHost(host, path) : undefined
    if (found !== undefined) return found
    const owner = this.#owner(scheme, host)
    if (owner?.kind === 'api') return this.#api ?? this.#offline
    if (owner?.kind === 'tunnel') return this.#tunnels.http(owner.tunnel)
    if (owner?.kind === 'edge') return this.#edges.http(owner.row, host, path)
    if (owner?.kind === 'domain') return this.#configurations.http(owner.row, scheme)
    const isSecured = scheme === 'http' && this.#options.info.httpsPort !== undefined
    return isSecured && this.#owner('https', host) !== undefined ? this.#redirect : this.#offline
  }

  /** One tunnel alone; undefined if it is not online. */
  direct(tunnelId: string): CompiledEndpoint | undefined {
    return this.#tunnels.direct(tunnelId)
  }

  /** The places that require sign-in at a host: routes of an edge, or one other. */
  signInRealms(scheme: 'http' | 'https', host: string): readonly string[] {
    // TLS connections to such a name never become requests here.
    if (scheme === 'https' && this.#owner('tls', host) !== undefined) return []
    const owner = this.#owner(scheme, host)
    if (owner?.kind === 'edge') return this.#edges.signInRealms(owner.row, host)
    if (owner === undefined || owner.kind === 'api') return []
    const place =
      owner.kind === 'tunnel'
        ? this.#tunnels.signInRealm(owner.tunnel)
        : this.#configurations.signInRealm(owner.row, scheme)
    return place === undefined ? [] : [place]
  }

  /** What to do with a TLS connection. A name without an endpoint is served by HTTP, with an error page. */
  serverName(name: string | undefined, ip: string): TlsRoute {
    if (name === undefined) return { kind: 'http' }
    const owner = this.#owner('tls', name)
    if (owner === undefined) return this.#webServerName(name)
    if (!this.#isClientAllowed(ip, name)) return { kind: 'refused' }
    if (owner.kind === 'api') return { kind: 'http' }
    return owner.kind === 'tunnel' ? this.#tunnels.tls(owner.tunnel) : this.#edges.tls(owner.row)
  }

  #webServerName(name: string): TlsRoute {
    const owner = this.#owner('https', name)
    if (owner === undefined || owner.kind === 'api') return { kind: 'http' }
    if (owner.kind === 'tunnel') return this.#tunnels.tls(owner.tunnel)
    return owner.kind === 'edge' ? this.#edges.tls(owner.row) : this.#configurations.tls(owner.row)
  }

  /** The target of a port; resolved for each connection. */
  tcp(port: number): L4Upstream | undefined {
    const { records } = this.#options
    const edge = records.edgeForPort(port)
    const tunnel = edge === undefined ? this.#index.onPort(port) : undefined
    const configured = edge === undefined && tunnel === undefined ? this.#configurations.tcp(port) : undefined
    if (edge === undefined && tunnel === undefined && configured === undefined) return undefined
    const upstream = edge ? this.#edges.tcp(edge) : tunnel ? this.#tunnels.tcp(tunnel) : configured
    return {
      ...(upstream?.proxyProtocol !== undefined && { proxyProtocol: upstream.proxyProtocol }),
      usage: upstream?.usage,
      decide: ip => (this.isRefused(ip) ? 'block' : upstream?.decide?.(ip)),
      dial: async (client, first) => {
        if (upstream === undefined || !this.#isClientAllowed(client.ip, `port ${port}`))
          throw new DialError('offline', `Nothing on port ${port} is served to ${client.ip}.`)
        return upstream.dial(client, first)
      },
    }
  }

  /** Whether a name has an endpoint, so that it may get a certificate. */
  serves(name: string): boolean {
    return (this.#owner('https', name) ?? this.#owner('tls', name)) !== undefined
  }

  #owner(scheme: 'http' | 'https' | 'tls', name: string): Owner | undefined {
    if (this.#isApi(name)) return scheme === 'https' ? API : undefined
    const exact = this.#ownerOf(scheme, name)
    if (exact !== undefined) return exact
    for (const wildcard of wildcardsOver(name)) {
      const owner = this.#ownerOf(scheme, wildcard)
      if (owner !== undefined) return owner
    }
    return undefined
  }

  /** The owner of a name, and the name or wildcard by which it is found. */
  ownerNamed(scheme: 'http' | 'https' | 'tls', host: string): NameOwner | undefined {
    if (this.#isApi(host)) return scheme === 'https' ? { name: host, owner: API } : undefined
    for (const name of [host, ...wildcardsOver(host)]) {
      const owner = this.#ownerOf(scheme, name)
      if (owner !== undefined) return { name, owner }
    }
    return undefined
  }

  /** Whether the sign-in callback handles it. */
  isCallback(head: RequestHead): boolean {
    return this.#options.central?.(head) !== undefined
  }

  #isApi(name: string): boolean {
    return this.#options.api?.hosts.has(name) === true
  }

  #ownerOf(scheme: 'http' | 'https' | 'tls', name: string): Owner | undefined {
    const row = scheme === 'http' ? undefined : this.#options.records.edgeNamed(name)
    if (row !== undefined && row.kind === edgeKinds[scheme]) return { kind: 'edge', id: row.id, row }
    // An edge of the other protocol owns the name.
    if (row !== undefined) return undefined
    const tunnel = this.#index.named(scheme, name)
    if (tunnel !== undefined) return { kind: 'tunnel', id: tunnel.id, tunnel }
    const domain = scheme === 'tls' ? undefined : this.#configurations.domain(scheme, name)
    return domain && { kind: 'domain', id: domain.id, row: domain }
  }

  #refusal({ client, head }: Exchange): Reply | undefined {
    const { serverName, scheme, ip } = client
    if (scheme === 'https' && serverName !== undefined && serverName !== head.host) {
      // One edge may have several names, and browsers reuse one connection for all names of a certificate.
      if (this.#owner('https', serverName)?.id !== this.#owner('https', head.host)?.id)
        return errorReply('misdirected', head)
    }
    if (client.certificate !== undefined && !this.#isProved(client.certificate, serverName))
      return errorReply('certificate_required', head)
    if (hasReturned(head)) return errorReply('request_returned', head)
    // It has restrictions of its own.
    if (this.#isApi(head.host)) return undefined
    return this.#isClientAllowed(ip, head.host) ? undefined : errorReply('visitor_refused', head, { ip })
  }

  /** A connection may be older than a change of the CAs for client certificates. */
  #isProved(certificate: ClientCertificate, serverName: string | undefined): boolean {
    const route = serverName === undefined ? undefined : this.#webServerName(serverName)
    if (route?.kind === 'refused') return false
    const clients = route?.kind === 'http' ? route.config?.clients : undefined
    return clients === undefined || stillHolds(certificate, clients)
  }

  /** Whether the restriction of all endpoints rejects a client. */
  isRefused(ip: string): boolean {
    const restriction = this.#options.records.restriction('endpoints')
    return restriction?.enforced === true && !restriction.allows(ip)
  }

  #isClientAllowed(ip: string, what: string): boolean {
    const restriction = this.#options.records.restriction('endpoints')
    if (restriction === undefined || restriction.allows(ip)) return true
    if (!restriction.enforced && performance.now() - this.#warnedAt > WARN_EVERY_MS) {
      this.#warnedAt = performance.now()
      this.#options.log.warn({ ip, what }, 'an unenforced IP restriction would deny this client')
    }
    return !restriction.enforced
  }
}
