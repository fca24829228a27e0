import { FairShare } from '#base/fair-share.ts'

/** For whom something is taken: what it serves, and who asked for it. */
export interface Party {
  readonly endpoint: string
  /** As `clientNetwork` tells it. */
  readonly client: string
}

/** One client address has less of a budget than one endpoint, so that it cannot take all that an endpoint may have. */
const ENDPOINT_SHARE = 0.5
const CLIENT_SHARE = 0.25

/** A budget of the process, divided among endpoints and among client addresses. */
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

  /** Notes what cannot be refused any more. */
  charge({ endpoint, client }: Party, amount: number): void {
    this.#endpoints.charge([endpoint], amount)
    this.#clients.charge([client], amount)
  }

  release({ endpoint, client }: Party, amount: number): void {
    this.#endpoints.release([endpoint], amount)
    this.#clients.release([client], amount)
  }
}
