import type { Endpoint } from '#gateway/exchange.ts'
import type { Fleet } from '#gateway/fleet.ts'
import type { Upstream } from '#gateway/listeners/forward.ts'
import { errorReply } from '#gateway/pages.ts'
import { closable, type ClosableEndpoint, type MakeBackend } from '#gateway/plan/compiled.ts'
import { groupBackend } from '#gateway/plan/group-backend.ts'
import { Routes } from '#gateway/plan/routes.ts'
import { TunnelGroup } from '#gateway/plan/tunnel-group.ts'
import type { TunnelIndex } from '#gateway/plan/tunnel-index.ts'
import { groupUpstream } from '#gateway/plan/upstreams.ts'
import { labelsOf } from '#gateway/records/keys.ts'
import type { Records } from '#gateway/records/records.ts'
import type { SourceRow } from '#gateway/records/source.ts'

export interface EdgesOptions {
  readonly records: Records
  readonly index: TunnelIndex
  readonly fleet: Fleet
  readonly backend: MakeBackend
}

interface Module {
  readonly enabled?: boolean
}

/** What an edge or a route can carry that changes what happens to traffic. */
const modules = [
  'circuit_breaker',
  'compression',
  'ip_restriction',
  'mutual_tls',
  'oauth',
  'oidc',
  'policy',
  'request_headers',
  'response_headers',
  'saml',
  'tls_termination',
  'traffic_policy',
  'user_agent_filter',
  'webhook_verification',
  'websocket_tcp_converter',
]

const isOn = (row: SourceRow, module: string): boolean => {
  const value = row.body[module] as Module | null | undefined
  return value !== null && value !== undefined && value.enabled !== false
}

/** Where traffic goes, or why it cannot be served: what we do not have is never left out without a word. */
type Destination =
  | { readonly kind: 'group'; readonly row: SourceRow }
  | { readonly kind: 'none' }
  | { readonly kind: 'unservable'; readonly reason: string }

const unservable = (reason: string): Destination => ({ kind: 'unservable', reason })

interface Kept<T> {
  readonly basis: string
  readonly value: T
  readonly close: () => void
}

/**
 * What edges do, compiled when it is first asked for. A route whose records kept their versions keeps what was compiled,
 * and with it the connections and the turns of its tunnels.
 */
export class Edges {
  readonly #options: EdgesOptions
  readonly #routes = new Map<string, Routes>()
  readonly #compiled = new Map<string, Kept<unknown>>()
  readonly #stop: (() => void)[]

  constructor(options: EdgesOptions) {
    this.#options = options
    const { records } = options
    this.#stop = [
      records.onChange(['https_edge_route'], ({ id, before, after }) => {
        for (const row of [before, after]) this.#routes.delete(row?.parent ?? '')
        if (after === undefined) this.#drop(id)
      }),
      records.onChange(['https_edge', 'tls_edge', 'tcp_edge'], ({ id, after }) => {
        this.#routes.delete(id)
        if (after === undefined) this.#drop(id)
      }),
    ]
  }

  close(): void {
    for (const stop of this.#stop) stop()
    for (const id of this.#compiled.keys()) this.#drop(id)
  }

  /** What an HTTPS edge answers with. */
  http(edge: SourceRow, host: string, path: string): Endpoint {
    const routes = this.#routes.get(edge.id) ?? new Routes(this.#options.records.routesOf(edge.id))
    this.#routes.set(edge.id, routes)
    const route = routes.find(host, path)
    if (route === undefined) return async ({ head }) => errorReply('endpoint_offline', head)
    const basis = [edge, route, this.#backendOf(route)].map(row => row?.version).join(' ')
    return this.#keep(route.id, basis, () => {
      const endpoint = this.#endpoint(edge, route)
      return { value: endpoint, close: () => endpoint.close() }
    })
  }

  /** Where a TCP or TLS edge leads; undefined when it leads nowhere or cannot be served. */
  upstream(edge: SourceRow): Upstream | undefined {
    const basis = [edge, this.#backendOf(edge)].map(row => row?.version).join(' ')
    return this.#keep(edge.id, basis, () => {
      const destination = this.#destination([edge], edge)
      const kind = edge.kind === 'tcp_edge' ? 'tcp' : 'tls'
      const value =
        destination.kind === 'group'
          ? groupUpstream(this.#group(destination.row), this.#options.fleet, kind)
          : undefined
      return { value, close: () => undefined }
    })
  }

  #endpoint(edge: SourceRow, route: SourceRow): ClosableEndpoint {
    const destination = this.#destination([edge, route], route)
    switch (destination.kind) {
      case 'group': {
        const { fleet, backend } = this.#options
        return groupBackend(this.#group(destination.row), fleet, backend)
      }
      case 'none':
        return closable(
          async ({ head }) => errorReply('endpoint_offline', head),
          () => undefined,
        )
      case 'unservable': {
        const { reason } = destination
        return closable(
          async ({ head }) => errorReply('not_servable', head, { reason }),
          () => undefined,
        )
      }
    }
  }

  #destination(rows: readonly SourceRow[], owner: SourceRow): Destination {
    if (rows.some(({ readable }) => !readable)) return unservable('its secrets cannot be opened')
    const module = modules.find(name => rows.some(row => isOn(row, name)))
    if (module !== undefined) return unservable(`this server does not have the module ${module}`)
    if (!isOn(owner, 'backend')) return { kind: 'none' }
    const row = this.#backendOf(owner)
    if (row === undefined) return unservable('its backend does not exist')
    return row.kind === 'tunnel_group_backend'
      ? { kind: 'group', row }
      : unservable(`this server does not have backends of the kind ${row.kind.replace('_backend', '')}`)
  }

  #backendOf(owner: SourceRow): SourceRow | undefined {
    const module = owner.body['backend'] as { readonly backend?: string | null } | null
    return module?.backend ? this.#options.records.backend(module.backend) : undefined
  }

  #group(row: SourceRow): TunnelGroup {
    return new TunnelGroup(this.#options.index, labelsOf(row))
  }

  #keep<T>(id: string, basis: string, make: () => { value: T; close: () => void }): T {
    const known = this.#compiled.get(id)
    if (known?.basis === basis) return known.value as T
    known?.close()
    const { value, close } = make()
    this.#compiled.set(id, { basis, value, close })
    return value
  }

  #drop(id: string): void {
    this.#compiled.get(id)?.close()
    this.#compiled.delete(id)
  }
}
