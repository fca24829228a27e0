import { randomPart, timePart } from '#base/ids.ts'
import { parseHostPort } from '#base/hosts.ts'
import { alwaysCaptured } from '#registry/always-captured.ts'
import type { AgentCommand, Directory, SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { ResourceBody } from '#contract/body.ts'
import type {
  CaptureRecord,
  ReplayOrder,
  RequestHistory,
  RequestPage,
  RequestWatcher,
} from '#contract/request-history.ts'
import type { ExplainRequest } from '#contract/route-explanation.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import { anyConnection, primaryOnly, isPrimary, baseId, connectionsOf } from '#registry/agent-connections.ts'
import { pageByIdDesc } from '#base/page-by-id.ts'
import { hostportsOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'
import { joins, type TunnelGroup } from '#registry/records/tunnel-group.ts'
import type { onlineKinds } from '#contract/kinds/live.ts'
import type { Change } from '#contract/streams.ts'
import {
  edgeEndpointId,
  edgeKinds,
  tunnelEndpointId,
  watchOnline,
  type EdgeRow,
} from '#registry/online-changes.ts'

type LiveKind = (typeof onlineKinds)[number] | 'request'

interface LiveOptions {
  readonly info: GatewayInfo
  readonly directory: Directory
  readonly records: Records
  readonly dialer: Pick<AgentDialer, 'roundTrip' | 'command'>
  readonly requests: RequestHistory
  readonly explain: ExplainRequest
}

interface OnlineCounts {
  readonly agents: number
  readonly tunnels: number
  readonly endpoints: number
  /** TCP ports of tunnels. */
  readonly tcpPorts: number
}

const edgeProtos = { https_edge: 'https', tls_edge: 'tls', tcp_edge: 'tcp' } as const

/** The online state, in the form of the management API. */
export class LiveView {
  readonly #options: LiveOptions
  readonly #edgeEndpoints = new WeakMap<EdgeRow, readonly ResourceBody[]>()

  constructor(options: LiveOptions) {
    this.#options = options
  }

  async get(kind: LiveKind, id: string): Promise<ResourceBody | undefined> {
    const { directory, requests } = this.#options
    const { sessions, tunnels } = directory
    if (kind === 'request') return show(await requests.find(id), it => this.#request(it))
    // Further connections of an agent have no public id.
    if (!isPrimary({ id })) return undefined
    if (kind === 'tunnel_session') return show(anyConnection(sessions, id), it => this.#session(it))
    if (kind === 'tunnel') return show(anyConnection(tunnels, id), it => this.#tunnel(it))
    const tunnel = anyConnection(tunnels, `tn_${randomPart(id)}`)
    if (tunnel?.address !== undefined) return id.startsWith('ep_') ? this.#endpoint(tunnel) : undefined
    for (const edge of this.#edges()) {
      const isNear = timePart(edge.id) === timePart(id)
      const found = isNear ? this.#endpointsOf(edge).find(body => body['id'] === id) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }

  async list(kind: LiveKind, page: RequestPage): Promise<ResourceBody[]> {
    const { directory, requests } = this.#options
    const { sessions, tunnels } = directory
    if (kind === 'request') return (await requests.list(page)).map(it => this.#request(it))
    if (kind === 'tunnel_session')
      return pageByIdDesc(primaryOnly(sessions), ({ id }) => baseId(id), page).map(it => this.#session(it))
    if (kind === 'tunnel')
      return pageByIdDesc(primaryOnly(tunnels), ({ id }) => baseId(id), page).map(it => this.#tunnel(it))
    const found = pageByIdDesc(this.#endpoints(), ([id]) => id, page)
    return found.map(([, body]) => body())
  }

  async nameOwners(names: readonly string[]): Promise<string[]> {
    const owners = new Set<string>()
    for (const { address, ownerId } of this.#options.directory.tunnels.values())
      if (address !== undefined && address.scheme !== 'tcp' && names.includes(address.host))
        owners.add(ownerId)
    return [...owners]
  }

  async tunnelsOf(group: TunnelGroup): Promise<string[]> {
    return primaryOnly(this.#options.directory.tunnels)
      .filter(tunnel => tunnel.address === undefined && joins(tunnel, group))
      .map(({ id }) => baseId(id))
      .toSorted()
  }

  watchRequests(filters: NonNullable<RequestPage['filters']>, watcher: RequestWatcher): () => void {
    return this.#options.requests.watch(filters, {
      seen: it => watcher.seen(this.#request(it)),
      dropped: count => watcher.dropped(count),
    })
  }

  /** Reports agents, tunnels and endpoints as they go online and offline; returns how to stop. */
  watchOnline(seen: (change: Change) => void): () => void {
    return watchOnline(this.#options, seen)
  }

  /** What would handle a request, according to the router of a gateway process. */
  explain(...args: Parameters<ExplainRequest>): ReturnType<ExplainRequest> {
    return this.#options.explain(...args)
  }

  /** How much of each is online, of one owner or of all. */
  online(ownerId?: string): OnlineCounts {
    const { directory, records } = this.#options
    const isCounted = (owner: string | undefined): boolean => ownerId === undefined || owner === ownerId
    const sessions = primaryOnly(directory.sessions).filter(({ credentialId }) =>
      isCounted(records.credential(credentialId)?.ownerId),
    )
    const tunnels = primaryOnly(directory.tunnels).filter(tunnel => isCounted(tunnel.ownerId))
    let edgeEndpoints = 0
    for (const edge of this.#edges())
      if (isCounted(edge.body.owner_id ?? '')) edgeEndpoints += hostportsOf(edge).length
    return {
      agents: sessions.length,
      tunnels: tunnels.length,
      endpoints: tunnels.filter(({ address }) => address !== undefined).length + edgeEndpoints,
      tcpPorts: tunnels.filter(({ address }) => address?.scheme === 'tcp').length,
    }
  }

  /** What is captured all the time. */
  alwaysCaptured(): ReturnType<typeof alwaysCaptured> {
    return alwaysCaptured(this.#options.records, this.#options.directory)
  }

  capture(id: string): Promise<CaptureRecord | undefined> {
    return this.#options.requests.capture(id)
  }

  replay(order: ReplayOrder): Promise<CaptureRecord | undefined> {
    return this.#options.requests.replay(order)
  }

  /** What is known of the link of an agent; undefined if it is not connected. */
  async agentLink(id: string): Promise<ResourceBody | undefined> {
    const connections = connectionsOf(this.#options.directory.sessions, id)
    const [session] = connections
    if (session === undefined) return undefined
    const roundTrip = await this.#options.dialer.roundTrip(session.id)
    return {
      arch: session.arch === '' ? null : session.arch,
      connections: connections.length,
      round_trip_ms: roundTrip === null ? null : Math.round(roundTrip * 1000) / 1000,
    }
  }

  command(sessionId: string, command: AgentCommand): Promise<void> {
    return this.#options.dialer.command(sessionId, command)
  }

  /** With the name of its agent, which the history does not have. */
  #request(request: ResourceBody): ResourceBody {
    const { sessions, tunnels } = this.#options.directory
    const tunnel = anyConnection(tunnels, String(request['tunnel_id']))
    const session = tunnel && anyConnection(sessions, baseId(tunnel.sessionId))
    return { ...request, agent: session ? session.metadata || session.ip : null }
  }

  #session(record: SessionRecord): ResourceBody {
    return {
      id: baseId(record.id),
      agent_version: record.agentVersion,
      credential: record.credentialId,
      ip: record.ip,
      metadata: record.metadata,
      os: record.os,
      region: record.region,
      started_at: record.startedAt,
      transport: record.transport,
    }
  }

  #tunnel(tunnel: TunnelRecord): ResourceBody {
    const { address, labels } = tunnel
    const id = baseId(tunnel.id)
    const groups = address === undefined ? this.#options.records.groupsOf(tunnel) : []
    return {
      id,
      public_url: tunnel.url,
      started_at: tunnel.startedAt,
      metadata: tunnel.metadata,
      proto: address?.scheme ?? null,
      region: this.#regionOf(tunnel),
      tunnel_session: baseId(tunnel.sessionId),
      endpoint: address === undefined ? null : tunnelEndpointId(tunnel),
      labels,
      backends: groups.map(group => group.id),
      forwards_to: tunnel.forwardsTo,
    }
  }

  #endpoint(tunnel: TunnelRecord): ResourceBody {
    const { url, address, startedAt } = tunnel
    const id = baseId(tunnel.id)
    return {
      id: tunnelEndpointId(tunnel),
      region: this.#regionOf(tunnel),
      created_at: startedAt,
      updated_at: startedAt,
      public_url: url,
      proto: address?.scheme ?? null,
      hostport: hostportOf(url),
      type: 'ephemeral',
      metadata: tunnel.metadata,
      domain: tunnel.domainId ?? null,
      tcp_addr: tunnel.addrId ?? null,
      tunnel: id,
      edge: null,
    }
  }

  #regionOf({ sessionId }: TunnelRecord): string {
    return this.#options.directory.sessions.get(sessionId)?.region ?? this.#options.info.region
  }

  *#edges(): Generator<EdgeRow> {
    for (const kind of edgeKinds) yield* this.#options.records.all(kind)
  }

  *#endpoints(): Generator<[id: string, body: () => ResourceBody]> {
    for (const tunnel of primaryOnly(this.#options.directory.tunnels))
      if (tunnel.address !== undefined) yield [tunnelEndpointId(tunnel), () => this.#endpoint(tunnel)]
    for (const edge of this.#edges())
      for (const body of this.#endpointsOf(edge)) yield [String(body['id']), () => body]
  }

  #endpointsOf(edge: EdgeRow): readonly ResourceBody[] {
    const known = this.#edgeEndpoints.get(edge)
    if (known !== undefined) return known
    const made = hostportsOf(edge).map(hostport => this.#edgeEndpoint(edge, hostport))
    this.#edgeEndpoints.set(edge, made)
    return made
  }

  #edgeEndpoint(edge: EdgeRow, hostport: string): ResourceBody {
    const { records, info } = this.#options
    const proto = edgeProtos[edge.kind as keyof typeof edgeProtos]
    const { host = '', port = 0 } = parseHostPort(hostport) ?? {}
    const shownPort = proto === 'tcp' ? port : (info.httpsPort ?? port)
    return {
      id: edgeEndpointId(edge, hostport),
      region: info.region,
      created_at: edge.body.created_at,
      updated_at: edge.body.created_at,
      public_url: `${proto}://${host}${shownPort === 443 && proto !== 'tcp' ? '' : `:${shownPort}`}`,
      proto,
      hostport,
      type: 'edge',
      metadata: edge.body.metadata,
      domain: proto === 'tcp' ? null : (records.reservedDomain(host)?.id ?? null),
      tcp_addr: proto === 'tcp' ? (records.reservedAddr(port)?.id ?? null) : null,
      tunnel: null,
      edge: edge.id,
    }
  }
}

const defaultPorts: Readonly<Record<string, number>> = { http: 80, https: 443, tls: 443 }

/** Host and port of a public URL, with the default port added. */
function hostportOf(url: string): string {
  const [, scheme = '', rest = ''] = /^(\w+):\/\/(.*)$/.exec(url) ?? []
  return rest.includes(':') ? rest : `${rest}:${defaultPorts[scheme] ?? 0}`
}

const show = <T>(record: T | undefined, view: (record: T) => ResourceBody): ResourceBody | undefined =>
  record === undefined ? undefined : view(record)
