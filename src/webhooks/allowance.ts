import { type Party, SharedBudget } from '#base/shared-budget.ts'

/** Content that is being held. */
export interface Holder {
  readonly party: Party
  /** Bytes it has of the allowance. */
  readonly taken: number
  /** It comes too slowly to be worth its memory while others want it. */
  readonly isSlow: boolean
  /** Gives all of it back at once. */
  giveUp(): void
}

/**
 * Memory for content of senders that have not proved who they are, divided among endpoints and client addresses; all
 * gateways of a process share it. When there is not enough, the largest that comes slowly makes room.
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

  /** Where some is left, only those help that have the same share. */
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
