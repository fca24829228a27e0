import type { Directory, TunnelRecord } from '#registry/directory.ts'
import { wildcardsOver } from '#base/hosts.ts'

/** How long an agent is expected to reconnect. */
const EXPECTED_MS = 60_000
// An owner whose agents constantly reconnect must not evict the names of others.
const MAX_NAMES = 10_000
const MAX_OF_OWNER = 1000

interface Expected {
  readonly until: number
  readonly ownerId: string
}

export interface RecentOptions {
  /** Names that were online before the gateway started. */
  readonly before?: readonly string[]
  readonly now?: () => number
}

/** The names whose agents have just lost their connection, and may reconnect. */
export class RecentNames {
  readonly #now: () => number
  /** The oldest come first. */
  readonly #expected = new Map<string, Expected>()
  readonly #ofOwner = new Map<string, number>()
  readonly #stop: () => void

  constructor(directory: Directory, { before = [], now = () => performance.now() }: RecentOptions = {}) {
    this.#now = now
    for (const name of before.slice(0, MAX_NAMES)) this.#add(name, '')
    this.#stop = directory.watch({
      added: tunnel => this.#forget(nameOf(tunnel)),
      removed: (tunnel, lost) => (lost ? this.#lost(tunnel) : this.#forget(nameOf(tunnel))),
    })
  }

  close(): void {
    this.#stop()
  }

  /** The expected names, for a process that has just started. */
  list(): string[] {
    this.#prune()
    return [...this.#expected.keys()]
  }

  /** Whether the agent of this name, or of a wildcard over it, is expected to reconnect. */
  has(name: string): boolean {
    return (
      this.#isExpected(name) || Array.from(wildcardsOver(name)).some(wildcard => this.#isExpected(wildcard))
    )
  }

  #isExpected(name: string): boolean {
    const expected = this.#expected.get(name)
    return expected !== undefined && expected.until > this.#now()
  }

  #lost(tunnel: TunnelRecord): void {
    const name = nameOf(tunnel)
    const { ownerId } = tunnel
    this.#prune()
    if (name === undefined || (this.#ofOwner.get(ownerId) ?? 0) >= MAX_OF_OWNER) return
    this.#add(name, ownerId)
    const [oldest] = this.#expected.keys()
    if (this.#expected.size > MAX_NAMES) this.#forget(oldest)
  }

  #add(name: string, ownerId: string): void {
    this.#forget(name)
    this.#expected.set(name, { until: this.#now() + EXPECTED_MS, ownerId })
    // The owners of names from before a restart are unknown.
    if (ownerId !== '') this.#ofOwner.set(ownerId, (this.#ofOwner.get(ownerId) ?? 0) + 1)
  }

  #forget(name: string | undefined): void {
    const expected = this.#expected.get(name ?? '')
    if (name === undefined || expected === undefined) return
    this.#expected.delete(name)
    const left = (this.#ofOwner.get(expected.ownerId) ?? 1) - 1
    if (left > 0) this.#ofOwner.set(expected.ownerId, left)
    else this.#ofOwner.delete(expected.ownerId)
  }

  #prune(): void {
    for (const [name, { until }] of this.#expected) {
      if (until > this.#now()) return
      this.#forget(name)
    }
  }
}

const nameOf = ({ address }: TunnelRecord): string | undefined =>
  address === undefined || address.scheme === 'tcp' ? undefined : address.host
