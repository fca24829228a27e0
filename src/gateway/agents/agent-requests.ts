import { fail } from '#base/errors.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import { legId, legOf, plainId } from '#registry/legs.ts'
import { checkExtras } from '#gateway/agents/bind-options.ts'
import type { Sessions } from '#gateway/agents/sessions.ts'
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
  readonly #sessions: Sessions
  readonly #sessionId: string
  readonly #leg: number

  constructor(sessions: Sessions, sessionId: string) {
    this.#sessions = sessions
    this.#sessionId = sessionId
    this.#leg = legOf(sessionId)
  }

  async bind(request: BindRequest): Promise<BindAnswer> {
    const { Id, Proto, ForwardsTo, ForwardsProto, Opts, Extra } = request
    checkExtras(Extra)
    const record = await this.#sessions.bind(this.#sessionId, {
      kind: 'address',
      proto: Proto,
      options: bindOptions(Opts, 'Opts'),
      tunnelId: Id === '' ? '' : legId(Id, this.#leg),
      token: Extra.Token,
      pooling: Extra.PoolingEnabled,
      forwardsTo: ForwardsTo,
      forwardsProto: ForwardsProto,
      metadata: Extra.Metadata,
      waits: true,
    })
    return {
      Id: plainId(record.id),
      URL: record.url,
      Proto,
      Opts: echo(Opts, record),
      Error: '',
      Extra: { Token: this.#sessions.tokenOf(record), TunnelID: plainId(record.id) },
    }
  }

  async startTunnelWithLabel(request: StartTunnelWithLabelRequest): Promise<StartTunnelWithLabelAnswer> {
    const { Labels, ForwardsTo, ForwardsProto, Metadata } = request
    const record = await this.#sessions.bind(this.#sessionId, {
      kind: 'labels',
      labels: Labels,
      forwardsTo: ForwardsTo,
      forwardsProto: ForwardsProto,
      metadata: Metadata,
      waits: true,
    })
    return { Id: plainId(record.id), Error: '' }
  }

  /** The agent is ready for connections to the tunnel with this id. */
  release(id: string): void {
    this.#sessions.release(this.#sessionId, legId(id, this.#leg))
  }

  async unbind({ Id }: UnbindRequest): Promise<UnbindAnswer> {
    await this.#sessions.unbind(this.#sessionId, legId(Id, this.#leg))
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
    await this.#sessions.patch(this.#sessionId, legId(TunnelId, this.#leg), change)
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
