import { fail } from '#base/errors.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import { connectionId, connectionNumber, baseId } from '#registry/agent-connections.ts'
import { checkExtras } from '#gateway/agents/bind-options.ts'
import type { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import type { JsonObject } from '#base/json-fields.ts'
import {
  type BindAnswer,
  bindOptions,
  type BindOptions,
  type BindRequest,
  type PatchTunnelStateRequest,
  type PlainAnswer,
  type StartTunnelWithLabelAnswer,
  type StartTunnelWithLabelRequest,
  type UnbindAnswer,
  type UnbindRequest,
} from '#tunnel/messages.ts'

/** The requests of a signed-in agent. */
export class AgentRequests {
  readonly #registry: AgentRegistry
  readonly #sessionId: string
  readonly #connection: number

  constructor(registry: AgentRegistry, sessionId: string) {
    this.#registry = registry
    this.#sessionId = sessionId
    this.#connection = connectionNumber(sessionId)
  }

  async bind(request: BindRequest): Promise<BindAnswer> {
    const { Id, Proto, ForwardsTo, ForwardsProto, Opts, Extra } = request
    checkExtras(Extra)
    const record = await this.#registry.bind(this.#sessionId, {
      kind: 'address',
      proto: Proto,
      options: bindOptions(Opts, 'Opts'),
      tunnelId: Id === '' ? '' : connectionId(Id, this.#connection),
      token: Extra.Token,
      pooling: Extra.PoolingEnabled,
      forwardsTo: ForwardsTo,
      forwardsProto: ForwardsProto,
      metadata: Extra.Metadata,
      notReady: true,
    })
    return {
      Id: baseId(record.id),
      URL: record.url,
      Proto,
      Opts: echo(Opts, record),
      Error: '',
      Extra: { Token: this.#registry.tokenOf(record), TunnelID: baseId(record.id) },
    }
  }

  async startTunnelWithLabel(request: StartTunnelWithLabelRequest): Promise<StartTunnelWithLabelAnswer> {
    const { Labels, ForwardsTo, ForwardsProto, Metadata } = request
    const record = await this.#registry.bind(this.#sessionId, {
      kind: 'labels',
      labels: Labels,
      forwardsTo: ForwardsTo,
      forwardsProto: ForwardsProto,
      metadata: Metadata,
      notReady: true,
    })
    return { Id: baseId(record.id), Error: '' }
  }

  /** The agent is ready for connections to the tunnel with this id. */
  markReady(id: string): void {
    this.#registry.markReady(this.#sessionId, connectionId(id, this.#connection))
  }

  async unbind({ Id }: UnbindRequest): Promise<UnbindAnswer> {
    await this.#registry.unbind(this.#sessionId, connectionId(Id, this.#connection))
    return { Error: '', Extra: null }
  }

  async patch(request: PatchTunnelStateRequest): Promise<PlainAnswer> {
    const { TunnelId, Metadata, TrafficPolicy, PoolingEnabled } = request
    if (TrafficPolicy)
      fail('bind_option', { option: 'TrafficPolicy', reason: 'this server does not have it' })
    const change = {
      ...(Metadata !== undefined && { metadata: Metadata }),
      ...(PoolingEnabled !== undefined && { pooling: PoolingEnabled }),
    }
    await this.#registry.patch(this.#sessionId, connectionId(TunnelId, this.#connection), change)
    return { Error: '' }
  }
}

/**
 * The options as received, with the assigned address. An agent sends them back when it binds again, and one family
 * rejects the response when an expected member is missing or null.
 */
function echo(given: JsonObject, { address, url, options }: TunnelRecord): JsonObject {
  const { Auth, Subdomain, HostHeaderRewrite, ProxyProto, MutualTLSAtAgent }: BindOptions = options
  if (address === undefined) return given
  if (address.scheme === 'tcp')
    return { ...given, Addr: `${address.host}:${address.port}`, URL: url, ProxyProto }
  const common = { ...given, URL: url, Hostname: address.host, Subdomain, ProxyProto }
  return address.scheme === 'tls' ? { ...common, MutualTLSAtAgent } : { ...common, Auth, HostHeaderRewrite }
}
