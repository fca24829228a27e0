import { FairShare } from '#base/fair-share.ts'

/** For what and for which client some of the budget is taken. */
export interface Party {
  readonly endpoint: string
  /** From `clientNetwork`. */
  readonly client: string
}

/** One client address gets less of a budget than one endpoint, so that it cannot use up the share of an endpoint. */
const ENDPOINT_SHARE = 0.5
const CLIENT_SHARE = 0.25

/** A process-wide budget, divided among endpoints and among client addresses. */
export class SharedBudget {
  readonly #endpoints: FairShare
  readonly #clients: FairShare

  constructor(total: number) {
    this.#endpoints = new FairShare(total, ENDPOINT_SHARE)
    this.#clients = new FairShare(total, CLIENT_SHARE)
  }

  get free(): number {
    return this.#endpoints.free
  }

  allows({ endpoint, client }: Party, amount: number): boolean {
    return this.#endpoints.allows([endpoint], amount) && this.#clients.allows([client], amount)
  }

  take(party: Party, amount: number): boolean {
    if (!this.allows(party, amount)) return false
    this.charge(party, amount)
    return true
  }

  /** Records use that can no longer be rejected. */
  charge({ endpoint, client }: Party, amount: number): void {
    this.#endpoints.charge([endpoint], amount)
    this.#clients.charge([client], amount)
  }

  release({ endpoint, client }: Party, amount: number): void {
    this.#endpoints.release([endpoint], amount)
    this.#clients.release([client], amount)
  }
}
