import { fail } from '#base/errors.ts'
import { newId, timestamp } from '#base/ids.ts'
import type { Directory, TunnelRecord } from '#registry/directory.ts'
import type { Facts } from '#registry/facts.ts'
import { legId, legOf, plainId } from '#registry/legs.ts'
import type { Credential, Records } from '#registry/records/records.ts'
import type { Modules } from '#gateway/modules/index.ts'
import { requireMayBind } from '#gateway/agents/acl.ts'
import type { Claimant } from '#gateway/agents/address-rights.ts'
import { Addresses, type Place } from '#gateway/agents/addresses.ts'
import { checkOptions, readProto } from '#gateway/agents/bind-options.ts'
import type { AddressSpec, BindSpec, LabelSpec } from '#gateway/agents/bind-spec.ts'
import type { Entry } from '#gateway/agents/entry.ts'
import { refuseAddress } from '#gateway/agents/refuse-address.ts'
import type { OnlineNames } from '#gateway/agents/online-names.ts'
import type { Proofs } from '#gateway/agents/proofs.ts'
import { type Wanted, wantedAddress } from '#gateway/agents/wanted-address.ts'
import { bindOptions, type BindOptions } from '#tunnel/messages.ts'

const RANDOM_TRIES = 20
const CONTESTS = 4

export interface BinderOptions {
  readonly facts: Facts
  readonly records: Records
  readonly directory: Directory
  readonly online: OnlineNames
  readonly proofs: Proofs
  readonly modules: Modules
  readonly now: () => number
  /** Whether the agent that holds an address can be evicted for another one. */
  readonly displace: (holder: TunnelRecord, newcomer: Entry) => Promise<boolean>
}

/** The state of a tunnel that an agent requests again. */
interface Identified {
  readonly id: string
  /** Undefined for a new one. */
  readonly startedAt: string | undefined
}

interface Earlier extends Identified {
  readonly address: TunnelRecord['address']
  readonly options: BindOptions | undefined
}

const noOptions = bindOptions({}, '')

/** Assigns and claims the address of a new tunnel. */
export class Binder {
  readonly #options: BinderOptions
  readonly #addresses: Addresses

  constructor(options: BinderOptions) {
    this.#options = options
    this.#addresses = new Addresses(options)
  }

  /** Adds a tunnel with the requested address, or a random one. */
  async bindAddress(entry: Entry, spec: AddressSpec, credential: Credential): Promise<TunnelRecord> {
    const proto = readProto(spec.proto)
    const earlier = this.#earlier(entry, spec, credential)
    // The accepted options stay: a returning agent may lack some that it never got back, such as a password.
    const options = earlier?.options ?? spec.options
    checkOptions(proto, options, this.#options.modules)
    const wanted = wantedAddress(proto, options, this.#options.facts.domain)
    const make = (place: Place): TunnelRecord => {
      requireMayBind(credential.acl, place.address, {})
      return { ...this.#record(entry, spec, earlier), ...place, options, labels: {} }
    }
    const { ownerId } = entry
    if (earlier?.address) return this.#take(entry, make(await this.#again(earlier.address, ownerId)))
    const claimant = { ownerId, returns: false }
    const chosen = await this.#chosen(wanted, claimant)
    return chosen ? this.#take(entry, make(chosen)) : this.#takeAny(wanted, claimant, make)
  }

  /** Adds a labelled tunnel. */
  async bindLabels(
    entry: Entry,
    spec: LabelSpec,
    { acl, earlier }: { readonly acl: readonly string[]; readonly earlier: Identified },
  ): Promise<TunnelRecord> {
    const { labels } = spec
    const names = Object.keys(labels)
    if (names.length === 0 || names.some(name => name === '' || name.includes('='))) fail('bind_labels')
    requireMayBind(acl, undefined, labels)
    const base = { url: '', domainId: undefined, addrId: undefined, address: undefined }
    return this.#take(entry, { ...this.#record(entry, spec, earlier), ...base, labels, options: noOptions })
  }

  /** The tunnel that an agent requests again, if it is its own: the id alone proves nothing. */
  #earlier(entry: Entry, { tunnelId, token }: AddressSpec, credential: Credential): Earlier | undefined {
    if (tunnelId === '') return undefined
    const proof = this.#options.proofs.tunnel(token)
    if (proof?.id === plainId(tunnelId) && proof.credentialId === credential.id)
      return { ...proof, id: tunnelId }
    return entry.tunnels.get(tunnelId)?.record
  }

  async #again(address: NonNullable<TunnelRecord['address']>, ownerId: string): Promise<Place> {
    const claimant = { ownerId, returns: true }
    return address.scheme === 'tcp'
      ? this.#addresses.port(address.port, claimant)
      : this.#addresses.name(address.scheme, address.host, claimant)
  }

  async #chosen(wanted: Wanted, claimant: Claimant): Promise<Place | undefined> {
    if (wanted.scheme === 'tcp')
      return wanted.port === undefined ? undefined : this.#addresses.port(wanted.port, claimant)
    return wanted.host === undefined ? undefined : this.#addresses.name(wanted.scheme, wanted.host, claimant)
  }

  async #takeAny(
    { scheme }: Wanted,
    claimant: Claimant,
    make: (place: Place) => TunnelRecord,
  ): Promise<TunnelRecord> {
    for (let tries = 0; tries < RANDOM_TRIES; tries++) {
      const place =
        scheme === 'tcp' ? await this.#addresses.randomPort() : this.#addresses.randomName(scheme, claimant)
      const record = make(place)
      if ((await this.#options.directory.addTunnel(record)).ok) return record
    }
    return fail('ports_exhausted', this.#options.facts.randomTcpPorts)
  }

  /** The directory decides who gets an address; a dead holder is evicted first. */
  async #take(entry: Entry, record: TunnelRecord): Promise<TunnelRecord> {
    const { directory, displace } = this.#options
    for (let contests = 0; ; contests++) {
      const added = await directory.addTunnel(record)
      if (added.ok) return record
      if (contests === CONTESTS || !(await displace(added.holder, entry))) return refuseAddress(record, added)
    }
  }

  #record({ record: session, ownerId }: Entry, spec: BindSpec, earlier: Identified | undefined) {
    return {
      id: earlier?.id ?? legId(newId('tn'), legOf(session.id)),
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
