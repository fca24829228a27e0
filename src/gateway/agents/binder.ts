import { fail } from '#base/errors.ts'
import { newId, timestamp } from '#base/ids.ts'
import type { Directory, TunnelRecord } from '#registry/directory.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { connectionId, connectionNumber, baseId } from '#registry/agent-connections.ts'
import type { Credential } from '#registry/records/credentials.ts'
import type { Records } from '#registry/records/records.ts'
import type { Modules } from '#gateway/modules/index.ts'
import { requireMayBind } from '#gateway/agents/acl.ts'
import type { Claimant } from '#gateway/agents/address-rights.ts'
import { AddressAllocator, type AllocatedAddress } from '#gateway/agents/address-allocator.ts'
import { checkOptions, readProto } from '#gateway/agents/bind-options.ts'
import type { AddressSpec, BindSpec, LabelSpec } from '#gateway/agents/bind-spec.ts'
import type { ConnectedAgent } from '#gateway/agents/connected-agent.ts'
import type { EarlierId } from '#gateway/agents/labelled-tunnel-ids.ts'
import { refuseAddress } from '#gateway/agents/refuse-address.ts'
import type { OnlineNames } from '#gateway/agents/online-names.ts'
import type { ResumptionTokens } from '#gateway/agents/resumption-tokens.ts'
import { type WantedAddress, wantedAddress } from '#gateway/agents/wanted-address.ts'
import { defaultOptions, type BindOptions } from '#tunnel/messages.ts'

const RANDOM_TRIES = 20
const CONTESTS = 4

interface BinderOptions {
  readonly info: GatewayInfo
  readonly records: Records
  readonly directory: Directory
  readonly online: OnlineNames
  readonly resumption: ResumptionTokens
  readonly modules: Modules
  readonly now: () => number
  /** Whether the agent that holds an address can be evicted for another one. */
  readonly mayTakeOver: (holder: TunnelRecord, newcomer: ConnectedAgent) => Promise<boolean>
}

/** The state of a tunnel that an agent requests again. */
interface Earlier extends EarlierId {
  readonly address: TunnelRecord['address']
  readonly options: BindOptions | undefined
}

/** Assigns and claims the address of a new tunnel. */
export class Binder {
  readonly #options: BinderOptions
  readonly #addresses: AddressAllocator

  constructor(options: BinderOptions) {
    this.#options = options
    this.#addresses = new AddressAllocator(options)
  }

  /** Adds a tunnel with the requested address, or a random one. */
  async bindAddress(agent: ConnectedAgent, spec: AddressSpec, credential: Credential): Promise<TunnelRecord> {
    const proto = readProto(spec.proto)
    const earlier = this.#earlier(agent, spec, credential)
    // The accepted options stay: a returning agent may lack some that it never got back, such as a password.
    const options = earlier?.options ?? spec.options
    checkOptions(proto, options, this.#options.modules)
    const wanted = wantedAddress(proto, options, this.#options.info.domain)
    const make = (allocated: AllocatedAddress): TunnelRecord => {
      requireMayBind(credential.acl, allocated.address, {})
      return { ...this.#record(agent, spec, earlier), ...allocated, options, labels: {} }
    }
    const { ownerId } = agent
    if (earlier?.address) return this.#take(agent, make(await this.#again(earlier.address, ownerId)))
    const claimant = { ownerId, returns: false }
    const chosen = await this.#chosen(wanted, claimant)
    return chosen ? this.#take(agent, make(chosen)) : this.#takeAny(wanted, claimant, make)
  }

  /** Adds a labelled tunnel. */
  async bindLabels(
    agent: ConnectedAgent,
    spec: LabelSpec,
    { acl, earlier }: { readonly acl: readonly string[]; readonly earlier: EarlierId },
  ): Promise<TunnelRecord> {
    const { labels } = spec
    const names = Object.keys(labels)
    if (names.length === 0 || names.some(name => name === '' || name.includes('='))) fail('bind_labels')
    requireMayBind(acl, undefined, labels)
    const base = { url: '', domainId: undefined, addrId: undefined, address: undefined }
    return this.#take(agent, {
      ...this.#record(agent, spec, earlier),
      ...base,
      labels,
      options: defaultOptions,
    })
  }

  /** The tunnel that an agent requests again, if it is its own: the id alone proves nothing. */
  #earlier(
    agent: ConnectedAgent,
    { tunnelId, token }: AddressSpec,
    credential: Credential,
  ): Earlier | undefined {
    if (tunnelId === '') return undefined
    const proof = this.#options.resumption.tunnel(token)
    if (proof?.id === baseId(tunnelId) && proof.credentialId === credential.id)
      return { ...proof, id: tunnelId }
    return agent.tunnels.get(tunnelId)?.record
  }

  async #again(address: NonNullable<TunnelRecord['address']>, ownerId: string): Promise<AllocatedAddress> {
    const claimant = { ownerId, returns: true }
    return address.scheme === 'tcp'
      ? this.#addresses.port(address.port, claimant)
      : this.#addresses.name(address.scheme, address.host, claimant)
  }

  async #chosen(wanted: WantedAddress, claimant: Claimant): Promise<AllocatedAddress | undefined> {
    if (wanted.scheme === 'tcp')
      return wanted.port === undefined ? undefined : this.#addresses.port(wanted.port, claimant)
    return wanted.host === undefined ? undefined : this.#addresses.name(wanted.scheme, wanted.host, claimant)
  }

  async #takeAny(
    { scheme }: WantedAddress,
    claimant: Claimant,
    make: (allocated: AllocatedAddress) => TunnelRecord,
  ): Promise<TunnelRecord> {
    for (let tries = 0; tries < RANDOM_TRIES; tries++) {
      const allocated =
        scheme === 'tcp' ? await this.#addresses.randomPort() : this.#addresses.randomName(scheme, claimant)
      const record = make(allocated)
      if ((await this.#options.directory.addTunnel(record)).ok) return record
    }
    return fail('ports_exhausted', this.#options.info.randomTcpPorts)
  }

  /** The directory decides who gets an address; a dead holder is evicted first. */
  async #take(agent: ConnectedAgent, record: TunnelRecord): Promise<TunnelRecord> {
    const { directory, mayTakeOver } = this.#options
    for (let contests = 0; ; contests++) {
      const added = await directory.addTunnel(record)
      if (added.ok) return record
      if (contests === CONTESTS || !(await mayTakeOver(added.holder, agent)))
        return refuseAddress(record, added)
    }
  }

  #record({ record: session, ownerId }: ConnectedAgent, spec: BindSpec, earlier: EarlierId | undefined) {
    return {
      id: earlier?.id ?? connectionId(newId('tn'), connectionNumber(session.id)),
      sessionId: session.id,
      ownerId,
      node: session.node,
      forwardsTo: spec.forwardsTo,
      forwardsProto: spec.forwardsProto === 'http2' ? ('http2' as const) : ('http1' as const),
      metadata: spec.metadata,
      pooling: spec.kind === 'address' && spec.pooling,
      startedAt: earlier?.startedAt ?? timestamp(this.#options.now()),
    }
  }
}
