import type { TunnelRecord } from '#registry/directory.ts'
import type { TunnelIndex } from '#registry/tunnel-index.ts'

// How long a failed tunnel is skipped.
const PENALTY_MS = 5000

/** Round robin over online tunnels: those with all labels of a group, or those of a pool. */
export class TunnelBalancer {
  readonly #index: TunnelIndex
  readonly #find: () => readonly TunnelRecord[]
  readonly #failed = new Map<string, number>()
  #members: readonly TunnelRecord[] = []
  #generation = -1
  #turn = 0

  /** `find` is called again whenever the index has changed. */
  constructor(index: TunnelIndex, find: () => readonly TunnelRecord[]) {
    this.#index = index
    this.#find = find
  }

  /** The online tunnels. */
  get members(): readonly TunnelRecord[] {
    if (this.#generation === this.#index.generation) return this.#members
    this.#generation = this.#index.generation
    this.#members = this.#find()
    const ids = new Set(this.#members.map(({ id }) => id))
    for (const id of this.#failed.keys()) if (!ids.has(id)) this.#failed.delete(id)
    return this.#members
  }

  /** The next tunnel; undefined when none is online. */
  next(): TunnelRecord | undefined {
    const { members } = this
    return this.#failed.size === 0 ? this.#turnOf(members) : this.#preferred(members)
  }

  /** The next tunnel after those that failed. */
  nextExcluding(tried: readonly TunnelRecord[]): TunnelRecord | undefined {
    return this.#preferred(this.members.filter(tunnel => !tried.includes(tunnel)))
  }

  markFailed({ id }: TunnelRecord): void {
    this.#failed.set(id, performance.now())
  }

  markHealthy({ id }: TunnelRecord): void {
    if (this.#failed.size > 0) this.#failed.delete(id)
  }

  /** A tunnel that just failed is used only when all have. */
  #preferred(members: readonly TunnelRecord[]): TunnelRecord | undefined {
    const now = performance.now()
    const well = members.filter(({ id }) => now - (this.#failed.get(id) ?? -Infinity) >= PENALTY_MS)
    return this.#turnOf(well.length > 0 ? well : members)
  }

  #turnOf(members: readonly TunnelRecord[]): TunnelRecord | undefined {
    return members[this.#turn++ % members.length]
  }
}
