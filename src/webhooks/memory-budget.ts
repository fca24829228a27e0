import { type Party, SharedBudget } from '#base/shared-budget.ts'

/** A body being buffered. */
export interface BudgetHolder {
  readonly party: Party
  /** Its bytes of the budget. */
  readonly taken: number
  /** It is too slow to be worth its memory when others need it. */
  readonly isSlow: boolean
  /** Releases all of it at once. */
  evict(): void
}

/**
 * Memory for bodies of unverified senders, divided among endpoints and client addresses; one for a gateway. When it is used up, the largest slow one is evicted.
 */
export class MemoryBudget {
  readonly #budget: SharedBudget
  readonly #holders = new Set<BudgetHolder>()

  constructor(bytes: number) {
    this.#budget = new SharedBudget(bytes)
  }

  get left(): number {
    return this.#budget.free
  }

  take(holder: BudgetHolder, bytes: number): boolean {
    while (!this.#budget.take(holder.party, bytes)) {
      const victim = this.#slowest(holder, bytes > this.left)
      if (victim === undefined) return false
      victim.evict()
    }
    this.#holders.add(holder)
    return true
  }

  release(holder: BudgetHolder, bytes: number): void {
    this.#holders.delete(holder)
    if (bytes > 0) this.#budget.release(holder.party, bytes)
  }

  /** Otherwise only evicting those of the same share helps. */
  #slowest(wanting: BudgetHolder, isFull: boolean): BudgetHolder | undefined {
    const { endpoint, client } = wanting.party
    let largest: BudgetHolder | undefined
    for (const holder of this.#holders) {
      if (holder === wanting || !holder.isSlow) continue
      if (!isFull && holder.party.endpoint !== endpoint && holder.party.client !== client) continue
      if (largest === undefined || holder.taken > largest.taken) largest = holder
    }
    return largest
  }
}
