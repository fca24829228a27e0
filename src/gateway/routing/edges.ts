import type { Endpoint } from '#http/exchange.ts'
import type { L4Upstream } from '#gateway/listeners/l4-proxy.ts'
import type { TlsRoute } from '#gateway/listeners/https.ts'
import type { Modules } from '#gateway/modules/index.ts'
import { withPath } from '#http/changed.ts'
import { errorReply } from '#http/pages.ts'
import { filtered } from '#gateway/routing/upstreams.ts'
import { type CacheEntry, DependencyCache } from '#gateway/routing/dependency-cache.ts'
import type { CompiledEndpoint, Compiler } from '#gateway/routing/compiler.ts'
import { normalized } from '#gateway/routing/paths.ts'
import { planned, planOf } from '#gateway/routing/plan.ts'
import { isNormalizing, type MatchedRoute, type RouteRow, Routes } from '#gateway/routing/routes.ts'
import { chosenRoute, SignInRoutes } from '#gateway/routing/sign-in-routes.ts'
import { tlsConfigOf, tlsModulesOf } from '#gateway/routing/tls-config.ts'
import { usageAt } from '#gateway/routing/usage.ts'
import { textOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import { SIGNED_IN_PATH } from '#auth/sign-in/paths.ts'
import { endsAtEdge } from '#tls/edge-tls-config.ts'

interface EdgesOptions {
  readonly records: Records
  readonly compiler: Compiler
  readonly modules: Modules
}

/** What a request at an edge needs. With many edges the cost is in reaching cold memory, so it is kept together. */
interface ServedEdge {
  readonly row: SourceRow
  readonly routes: Routes
  /** Responds where none of them matches. */
  readonly unrouted: Endpoint
  /** Undefined: no route requires sign-in. */
  readonly signIn: SignInRoutes | undefined
  connection: CacheEntry<CompiledConnection>
  /** Of the connection. */
  fault: Endpoint | undefined
  /** The names under which it was found. */
  readonly hosts: Set<string>
}

/** A connection without HTTP, or its TLS. */
interface CompiledConnection {
  readonly route: TlsRoute
  /** Responds where the connection cannot be served as configured. */
  readonly fault?: Endpoint
  close(): void
}

/** Responds where no route of the edge matches. */
function withoutRoute(edgeId: string): Endpoint {
  const route = { edgeId, routeId: undefined, modules: [] }
  const answer: Endpoint = async ({ head, context }) => {
    context.routing.route = route
    return errorReply('endpoint_offline', head, { lacks: 'route' })
  }
  return planned(answer, { error: { code: 'endpoint_offline' }, lacks: 'route' })
}

const ambiguous = planned(async ({ head }) => errorReply('path_ambiguous', head), {
  error: { code: 'path_ambiguous' },
})
const noSignInRoute: Endpoint = async ({ head }) =>
  errorReply(head.path === SIGNED_IN_PATH ? 'sign_in_state' : 'sign_in_route', head)
const refused: CompiledConnection = { route: { kind: 'refused' }, close: () => undefined }

/** Edges, compiled on first use and cached until one of their records changes. */
export class Edges {
  readonly #options: EdgesOptions
  readonly #served = new Map<string, ServedEdge>()
  /** The same by name, not of wildcards. */
  readonly #byHost = new Map<string, ServedEdge>()
  readonly #endpoints: DependencyCache<CompiledEndpoint>
  readonly #connections: DependencyCache<CompiledConnection>
  readonly #stop: () => void

  constructor(options: EdgesOptions) {
    this.#options = options
    this.#endpoints = new DependencyCache(options.records, (error, id) =>
      options.compiler.unservable(error, id),
    )
    this.#connections = new DependencyCache(options.records, (error, id) => ({
      ...refused,
      fault: options.compiler.unservable(error, id).answer,
    }))
    this.#stop = options.records.onAnyChange(({ kind, id, before, after }) => {
      if (kind === 'https_edge_route') for (const row of [before, after]) this.#forget(row?.parent ?? '')
      this.#forget(id)
      if (after === undefined) options.modules.forget(id)
    })
  }

  /** The settings that modules are built from have changed. */
  recompile(): void {
    this.#endpoints.clear()
  }

  close(): void {
    this.#stop()
    this.#endpoints.close()
    this.#connections.close()
  }

  /** The handler of an HTTPS edge that was found by this name before; undefined: it has to be found. */
  atHost(host: string, path: string): Endpoint | undefined {
    const edge = this.#byHost.get(host)
    return edge && this.#handler(edge, host, path)
  }

  /** The handler of an HTTPS edge. */
  http(row: SourceRow, host: string, path: string): Endpoint {
    const edge = this.#serve(row)
    if (this.#options.records.edgeNamed(host) === row) {
      this.#byHost.set(host, edge)
      edge.hosts.add(host)
    }
    return this.#handler(edge, host, path)
  }

  #handler(edge: ServedEdge, host: string, path: string): Endpoint {
    if (!edge.connection.isCurrent) {
      edge.connection = this.#connection(edge.row, 'https')
      edge.fault = edge.connection.value.fault
    }
    if (edge.fault !== undefined) return edge.fault
    const { row, routes, signIn } = edge
    const normal = routes.normalizes ? normalized(path) : path
    const candidates = signIn?.forPath(host, path, normal)
    if (candidates !== undefined && candidates.length > 0)
      return this.#signingIn(row, candidates, { host, path, normal })
    const match = routes.find(host, path, normal)
    if (match === undefined) return edge.unrouted
    if (match === 'ambiguous') return ambiguous
    if (match.endpoint?.isCurrent !== true) match.endpoint = this.#endpoint(row, match.row)
    return this.#routed(signIn, match.row, match.endpoint.value, { path, normal })
  }

  /** The handler of a sign-in path: one of the routes that require sign-in. */
  #signingIn(
    edge: SourceRow,
    candidates: readonly RouteRow[],
    { host, path, normal }: { host: string; path: string; normal: string },
  ): Endpoint {
    return exchange => {
      const { routes, signIn } = this.#serve(edge)
      const serving = (): MatchedRoute | 'ambiguous' | undefined => routes.find(host, path, normal)
      const chosen = chosenRoute(candidates, exchange.head.target, serving)
      if (chosen === undefined) return noSignInRoute(exchange)
      const endpoint = this.#endpoint(edge, chosen).value
      return this.#routed(signIn, chosen, endpoint, { path, normal })(exchange)
    }
  }

  /** The routes of an HTTPS edge that require sign-in at a host. */
  signInRealms(edge: SourceRow, host: string): readonly string[] {
    const { signIn } = this.#serve(edge)
    return signIn?.at(host).map(({ id }) => id) ?? []
  }

  /** The target of a TCP edge; undefined when it has none or cannot be served. */
  tcp(edge: SourceRow): L4Upstream | undefined {
    const { route } = this.#connection(edge, 'tcp').value
    return route.kind === 'passthrough' ? route.upstream : undefined
  }

  /** The TLS handling of an HTTPS or TLS edge. */
  tls(edge: SourceRow): TlsRoute {
    const { route, fault } = this.#connection(edge, edge.kind === 'https_edge' ? 'https' : 'tls').value
    // Every request then gets the reason, which needs no TLS options of the edge.
    return fault !== undefined && edge.kind === 'https_edge' ? { kind: 'http' } : route
  }

  #serve(row: SourceRow): ServedEdge {
    const known = this.#served.get(row.id)
    if (known !== undefined) return known
    const rows = this.#options.records.routesOf(row.id)
    const connection = this.#connection(row, 'https')
    const { fault } = connection.value
    const [routes, signIn] = [new Routes(rows), SignInRoutes.among(rows)]
    const made = {
      row,
      routes,
      unrouted: withoutRoute(row.id),
      signIn,
      connection,
      fault,
      hosts: new Set<string>(),
    }
    this.#served.set(row.id, made)
    return made
  }

  #forget(id: string): void {
    for (const host of this.#served.get(id)?.hosts ?? []) this.#byHost.delete(host)
    this.#served.delete(id)
  }

  #routed(
    signIn: SignInRoutes | undefined,
    route: RouteRow,
    { answer }: CompiledEndpoint,
    { path, normal }: { path: string; normal: string },
  ): Endpoint {
    const guard = signIn?.guardOf(route)
    const guarded: Endpoint = guard ? exchange => guard(exchange, answer) : answer
    // Forward what was compared.
    const forwarding: Endpoint =
      normal === path || !isNormalizing(route) ? guarded : exchange => guarded(withPath(exchange, normal))
    return forwarding === answer ? answer : planned(forwarding, planOf(answer))
  }

  #endpoint(edge: SourceRow, route: SourceRow): CacheEntry<CompiledEndpoint> {
    return this.#endpoints.entry(route.id, uses => {
      uses(edge.id)
      const { compiler } = this.#options
      const place = {
        id: route.id,
        edgeId: edge.id,
        match: textOf(route, 'match'),
        usage: usageAt(edge),
        ownerId: textOf(edge, 'owner_id'),
      }
      return compiler.endpoint({ rows: [edge, route] }, place, () =>
        compiler.backend(route, { edge: 'https' }, uses),
      )
    })
  }

  #connection(edge: SourceRow, proto: 'https' | 'tcp' | 'tls'): CacheEntry<CompiledConnection> {
    return this.#connections.entry(edge.id, uses => this.#compile(edge, proto, uses))
  }

  #compile(edge: SourceRow, proto: 'https' | 'tcp' | 'tls', uses: (id: string) => void): CompiledConnection {
    const { compiler, modules, records } = this.#options
    if (proto === 'https')
      return { route: { kind: 'http', config: tlsConfigOf(edge, records, uses) }, close: () => undefined }
    const allows = modules.connectionFilterOf(edge)
    const ends = proto === 'tls' && endsAtEdge(tlsModulesOf(edge))
    // Before the backend: a failure after it is built would have to close it.
    const config = ends ? tlsConfigOf(edge, records, uses) : undefined
    const backend = compiler.backend(edge, { edge: proto, passthrough: proto === 'tls' && !ends }, uses)
    const dial = backend?.dial
    if (backend === undefined || dial === undefined) return refused
    const upstream = filtered({ dial, usage: usageAt(edge) }, allows)
    const close = (): void => backend.close()
    if (config) return { route: { kind: 'terminated', upstream, config }, close }
    return { route: { kind: 'passthrough', upstream }, close }
  }
}
