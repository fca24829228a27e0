import { type Pool, poolOf } from '#gateway/routing/pool.ts'
import type { Directory, TunnelRecord } from '#registry/directory.ts'
import type { Endpoint, ClientConnection } from '#http/exchange.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import { anyConnection, baseId } from '#registry/agent-connections.ts'
import type { L4Upstream } from '#gateway/listeners/l4-proxy.ts'
import type { TlsRoute } from '#gateway/listeners/https.ts'
import type { Modules } from '#gateway/modules/index.ts'
import { DependencyCache } from '#gateway/routing/dependency-cache.ts'
import type { MakeBackend } from '#gateway/backends/backend.ts'
import { throughTunnel } from '#gateway/backends/upstream-record.ts'
import type { CompiledEndpoint, Compiler } from '#gateway/routing/compiler.ts'
import { configurationOf } from '#gateway/routing/endpoint-configurations.ts'
import type { TunnelIndex } from '#registry/tunnel-index.ts'
import { signInRealmOf } from '#gateway/routing/sign-in-realm.ts'
import { tlsConfigOf } from '#gateway/routing/tls-config.ts'
import { terminationIdentity } from '#tls/tls-termination.ts'
import { usageThrough } from '#gateway/routing/usage.ts'
import { filtered, tunnelUpstream } from '#gateway/routing/upstreams.ts'
import type { Records } from '#registry/records/records.ts'
import type { TlsConfig } from '#tls/contexts.ts'
import { tunnelTlsConfig } from '#tls/agent-authorities.ts'

interface TunnelsOptions {
  readonly directory: Directory
  readonly records: Records
  readonly compiler: Compiler
  readonly modules: Modules
  readonly dialer: AgentDialer
  readonly makeTunnel: MakeBackend
  readonly index: TunnelIndex
}

type CompiledConnection = { close(): void } & (
  | { readonly upstream: L4Upstream; readonly config: TlsConfig; readonly fault?: undefined }
  /** It cannot be served as configured; requests get the reason. */
  | { readonly fault: Endpoint }
)

const nothing = (): void => undefined

/** The tunnels of agents: the modules that their agents requested, behind those of their domain or address. */
export class Tunnels {
  readonly #options: TunnelsOptions
  readonly #endpoints: DependencyCache<CompiledEndpoint>
  readonly #connections: DependencyCache<CompiledConnection>
  readonly #stop: () => void

  constructor(options: TunnelsOptions) {
    this.#options = options
    const { records, compiler } = options
    this.#endpoints = new DependencyCache(records, (error, id) => compiler.unservable(error, id))
    this.#connections = new DependencyCache(records, (error, id) => ({
      fault: compiler.unservable(error, id).answer,
      close: nothing,
    }))
    const changed = (id: string): void => {
      this.#endpoints.changed(id)
      this.#connections.changed(id)
    }
    this.#stop = options.directory.watch({
      // A returning tunnel with its old id may request other modules.
      added: ({ id }) => changed(id),
      removed: ({ id }) => {
        changed(id)
        options.modules.forget(baseId(id))
      },
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

  http(tunnel: TunnelRecord): Endpoint {
    const fault = tunnel.address?.scheme === 'https' ? this.#connection(tunnel).fault : undefined
    if (fault !== undefined) return fault
    return this.#endpoints.get(tunnel.id, uses => {
      const { compiler, makeTunnel, dialer } = this.#options
      const configuration = configurationOf(tunnel, this.#options.records, uses)
      const sources = { rows: configuration ? [configuration] : [], agent: tunnel.options }
      const upstream = this.#upstream(tunnel)
      const place = { id: baseId(tunnel.id), usage: usageThrough(tunnel), ownerId: tunnel.ownerId }
      return compiler.endpoint(sources, place, () => {
        const backend = tunnel.pooling ? this.#pool(tunnel).backend() : makeTunnel(tunnel, dialer)
        const dial = (client: ClientConnection, first: Buffer) => upstream.dial(client, first)
        return { answer: throughTunnel(tunnel, backend), dial, close: () => backend.close() }
      })
    }).answer
  }

  /** One tunnel alone, without modules, also of a pool or a tunnel group. Undefined if it is not online. */
  direct(id: string): CompiledEndpoint | undefined {
    const { compiler, makeTunnel, dialer, directory } = this.#options
    const tunnel = anyConnection(directory.tunnels, id)
    if (tunnel === undefined) return undefined
    const place = { id: baseId(id), usage: usageThrough(tunnel), ownerId: tunnel.ownerId }
    return compiler.endpoint({ rows: [] }, place, () => {
      const backend = makeTunnel(tunnel, dialer)
      return { answer: throughTunnel(tunnel, backend), dial: undefined, close: () => backend.close() }
    })
  }

  /** The configuration or tunnel that requires sign-in. */
  signInRealm(tunnel: TunnelRecord): string | undefined {
    const configuration = configurationOf(tunnel, this.#options.records, nothing)
    const sources = { rows: configuration ? [configuration] : [], agent: tunnel.options }
    return signInRealmOf(sources, baseId(tunnel.id))
  }

  /** Undefined when it cannot be served. */
  tcp(tunnel: TunnelRecord): L4Upstream | undefined {
    const connection = this.#connection(tunnel)
    return connection.fault === undefined ? connection.upstream : undefined
  }

  /** The TLS handling of an https or tls tunnel. */
  tls(tunnel: TunnelRecord): TlsRoute {
    const connection = this.#connection(tunnel)
    const isHttp = tunnel.address?.scheme !== 'tls'
    // Every request then gets the reason, which needs no TLS options.
    if (connection.fault !== undefined) return isHttp ? { kind: 'http' } : { kind: 'refused' }
    const { upstream, config } = connection
    if (isHttp) return { kind: 'http', config }
    const isPassed = tunnel.options.TLSTermination === null && config.clients === undefined
    return isPassed ? { kind: 'passthrough', upstream } : { kind: 'terminated', upstream, config }
  }

  #pool(tunnel: TunnelRecord): Pool {
    return poolOf(tunnel, this.#options)
  }

  #upstream(tunnel: TunnelRecord): L4Upstream {
    const own = tunnelUpstream(tunnel, this.#options.dialer)
    return tunnel.pooling ? { ...own, dial: this.#pool(tunnel).dial } : own
  }

  #connection(tunnel: TunnelRecord): CompiledConnection {
    return this.#connections.get(tunnel.id, uses => {
      const { records, modules } = this.#options
      // The same in all processes, whatever connection of the agent they use.
      const scope = baseId(tunnel.id)
      const configuration = configurationOf(tunnel, records, uses)
      const own = this.#upstream(tunnel)
      const upstream =
        configuration === undefined ? own : filtered(own, modules.connectionFilterOf(configuration))
      const identity = tunnel.options.TLSTermination && terminationIdentity(tunnel.options.TLSTermination)
      const configured = configuration ? tlsConfigOf(configuration, records, uses, scope) : {}
      const config = {
        ...tunnelTlsConfig(configured, tunnel.options, scope),
        ...(identity && { identity }),
      }
      return { upstream, config, close: nothing }
    })
  }
}
