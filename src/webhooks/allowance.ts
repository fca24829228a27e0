import { type Party, SharedBudget } from '#base/shared-budget.ts'

/** A body being buffered. */
export interface Holder {
  readonly party: Party
  /** Its bytes of the budget. */
  readonly taken: number
  /** It is too slow to be worth its memory when others need it. */
  readonly isSlow: boolean
  /** Releases all of it at once. */
  giveUp(): void
}

/**
 * Memory for bodies of unverified senders, divided among endpoints and client addresses; shared by all gateways of a
 * process. When it is used up, the largest slow one is evicted.
 */
export class Allowance {
  readonly #budget: SharedBudget
  readonly #holders = new Set<Holder>()

  constructor(bytes: number) {
    this.#budget = new SharedBudget(bytes)
  }

  get left(): number {
    return this.#budget.free
  }

  take(holder: Holder, bytes: number): boolean {
    while (!this.#budget.take(holder.party, bytes)) {
      const victim = this.#slowest(holder, bytes > this.left)
      if (victim === undefined) return false
      victim.giveUp()
    }
    this.#holders.add(holder)
    return true
  }

  giveBack(holder: Holder, bytes: number): void {
    this.#holders.delete(holder)
    if (bytes > 0) this.#budget.release(holder.party, bytes)
  }

  /** Otherwise only evicting those of the same share helps. */
  #slowest(wanting: Holder, isFull: boolean): Holder | undefined {
    const { endpoint, client } = wanting.party
    let largest: Holder | undefined
    for (const holder of this.#holders) {
      if (holder === wanting || !holder.isSlow) continue
      if (!isFull && holder.party.endpoint !== endpoint && holder.party.client !== client) continue
      if (largest === undefined || holder.taken > largest.taken) largest = holder
    }
    return largest
  }
}
