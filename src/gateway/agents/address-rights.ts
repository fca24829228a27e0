import { fail } from '#base/errors.ts'
import { isHeldLabel, readsAs } from '#base/held-names.ts'
import { covers, wildcardsOver } from '#base/hosts.ts'
import { isOwnLabel } from '#base/own-names.ts'
import { mayUse } from '#registry/records/owners.ts'
import type { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { OnlineNames } from '#gateway/agents/online-names.ts'

interface RightsOptions {
  /** The shared one. */
  readonly domain: string
  readonly records: Records
  readonly online: OnlineNames
}

/** Whether an owner may use a name; undefined if no record or tunnel claims it. */
type NameRight = 'granted' | 'denied' | undefined

export interface Claimant {
  readonly ownerId: string
  /** It had the name before its connection was lost. */
  readonly returns: boolean
}

/** Decides which names and ports the tunnels of a user may use. */
export class AddressRights {
  readonly #options: RightsOptions

  constructor(options: RightsOptions) {
    this.#options = options
  }

  /** Rejects a restricted name, and one that belongs to another user itself or through a parent domain. */
  requireName(host: string, claimant: Claimant): void {
    const right = this.#rightTo(host, claimant)
    if (right === 'denied') fail('address_of_other', { address: host })
    const { domain } = this.#options
    if (right === 'granted' || !covers(`*.${domain}`, host)) return
    const label =
      host
        .slice(0, -domain.length - 1)
        .split('.')
        .at(-1) ?? ''
    if (isHeldLabel(label)) fail('name_held_back', { name: host })
    this.#requireUnlike(host, label, claimant)
  }

  requirePort(reservation: SourceRow | undefined, address: string, ownerId: string): void {
    if (reservation !== undefined && !this.#mayUse(reservation, ownerId))
      fail('address_of_other', { address })
  }

  /** The nearest claimed name decides. */
  #rightTo(host: string, claimant: Claimant): NameRight {
    const reserved = this.#options.records.domainNamed(host)
    if (reserved !== undefined) return this.#ofRow(reserved, claimant)
    for (const wildcard of wildcardsOver(host)) {
      const above = wildcard.slice(2)
      // Otherwise the owner of the shared domain would own all names below it.
      if (above === this.#options.domain) return undefined
      const right = this.#below(above, wildcard, claimant)
      if (right !== undefined) return right
    }
    return undefined
  }

  /** The claim of the parent domain, and of its wildcard, on names below. */
  #below(above: string, wildcard: string, claimant: Claimant): NameRight {
    const { records, online } = this.#options
    const { ownerId, returns } = claimant
    const row = records.domainNamed(wildcard) ?? records.domainNamed(above)
    const edge = records.edgeNamed(wildcard) ?? records.edgeNamed(above)
    const isOthers = (name: string): boolean => {
      const holder = returns ? undefined : online.owner(name)
      return holder !== undefined && holder !== ownerId && !this.#isAdmin(ownerId)
    }
    if (isOthers(wildcard) || isOthers(above)) return 'denied'
    const rights = [row, edge].map(each => each && this.#ofRow(each, claimant))
    return rights.find(right => right === 'denied') ?? rights.find(right => right !== undefined)
  }

  /** A label of another script must not look like a restricted name or one of another user. */
  #requireUnlike(host: string, label: string, claimant: Claimant): void {
    const { domain, records, online } = this.#options
    const ascii = readsAs(label)
    if (ascii === undefined) return
    const name = `${ascii}.${domain}`
    if (isHeldLabel(ascii) || isOwnLabel(ascii)) fail('name_held_back', { name: host })
    const row = records.domainNamed(name) ?? records.edgeNamed(name)
    const holder = online.owner(name)
    const isOthers = holder !== undefined && holder !== claimant.ownerId
    if (isOthers || (row !== undefined && this.#ofRow(row, claimant) === 'denied'))
      fail('address_of_other', { address: host })
  }

  #ofRow(row: SourceRow, { ownerId }: Claimant): NameRight {
    return this.#mayUse(row, ownerId) ? 'granted' : 'denied'
  }

  #mayUse(row: SourceRow, ownerId: string): boolean {
    return mayUse(row, this.#options.records.owner(ownerId) ?? { id: ownerId, role: 'member' })
  }

  #isAdmin(ownerId: string): boolean {
    return this.#options.records.owner(ownerId)?.role === 'admin'
  }
}
