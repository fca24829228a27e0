/** LinkedIn's codes live for 30 minutes, the longest of all providers. */
const CLAIM_MS = 3_600_000

/** The use of one authorization code. */
export interface CodeClaim {
  /** A hash of the code: the code itself is a secret. */
  readonly digest: string
  /** Where the code is redeemed. */
  readonly realmId: string
  /** The network of the client that sent the code. */
  readonly network: string
}

/** `first`: the code may be redeemed. `used`: it was claimed before. `full`: the table is full. */
export type Claimed = 'first' | 'used' | 'full'

interface ClaimLimits {
  readonly total: number
  readonly perRealm: number
  /** For each network in each realm. */
  readonly perNetwork: number
}

const limits: ClaimLimits = { total: 200_000, perRealm: 50_000, perNetwork: 2000 }

interface ClaimEntry {
  readonly until: number
  readonly counters: readonly string[]
}

/**
 * Allows every authorization code to be redeemed once, in one realm. All endpoints share one callback URL, so a
 * provider cannot distinguish them. The owner of an endpoint with its own provider could redirect a user to the
 * provider of another endpoint, get that code from the gateway, and use it at the other endpoint (the mix-up attack of
 * RFC 9700 §4.4). A code is claimed before it is sent anywhere, so it is worthless afterwards.
 */
export class CodeClaims {
  readonly #now: () => number
  readonly #limits: ClaimLimits
  // Claims live equally long, so the first ones expire first.
  readonly #claims = new Map<string, ClaimEntry>()
  readonly #counts = new Map<string, number>()

  constructor(now: () => number = Date.now, changed: Partial<ClaimLimits> = {}) {
    this.#now = now
    this.#limits = { ...limits, ...changed }
  }

  /** When the table is full the code is not redeemed: forgetting an older claim would make its code valid again. */
  claim({ digest, realmId, network }: CodeClaim): Claimed {
    this.#expire()
    if (this.#claims.has(digest)) return 'used'
    const realm = `realm ${realmId}`
    const source = `network ${network} ${realmId}`
    const isFull =
      this.#claims.size >= this.#limits.total ||
      this.#count(realm) >= this.#limits.perRealm ||
      this.#count(source) >= this.#limits.perNetwork
    if (isFull) return 'full'
    this.#claims.set(digest, { until: this.#now() + CLAIM_MS, counters: [realm, source] })
    for (const counter of [realm, source]) this.#counts.set(counter, this.#count(counter) + 1)
    return 'first'
  }

  #count(counter: string): number {
    return this.#counts.get(counter) ?? 0
  }

  #expire(): void {
    for (const [digest, { until, counters }] of this.#claims) {
      if (this.#now() < until) return
      this.#claims.delete(digest)
      for (const counter of counters) {
        const left = this.#count(counter) - 1
        if (left > 0) this.#counts.set(counter, left)
        else this.#counts.delete(counter)
      }
    }
  }
}
