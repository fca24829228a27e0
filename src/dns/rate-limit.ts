import { randomInt } from 'node:crypto'
import { networkOf } from '#dns/network.ts'

interface RateLimits {
  /** Responses per second to one network. */
  readonly perSecond: number
  /** Burst size. */
  readonly burst: number
  /** Of those above the limit every n-th is truncated: its client retries over TCP, which cannot be spoofed. */
  readonly slip: number
}

const rateDefaults: RateLimits = { perSecond: 50, burst: 100, slip: 2 }

type RateLimitVerdict = 'answer' | 'truncate' | 'drop'

/** A power of two. Networks that share a slot by chance share its budget; the secret seed prevents choosing one. */
const PLACES = 65_536

/**
 * Prevents reflection attacks: UDP responses go to whatever address a query claims to be from. The table has a fixed
 * size, so that a flood from many addresses evicts no one.
 */
export class DnsRateLimit {
  readonly #limits: RateLimits
  readonly #now: () => number
  readonly #seed = randomInt(2 ** 32)
  readonly #saved: Float64Array
  readonly #seen = new Float64Array(PLACES)
  readonly #over = new Uint32Array(PLACES)

  constructor(limits: Partial<RateLimits> = {}, now: () => number = () => performance.now()) {
    this.#limits = { ...rateDefaults, ...limits }
    this.#now = now
    this.#saved = new Float64Array(PLACES).fill(this.#limits.burst)
  }

  judge(address: string): RateLimitVerdict {
    const { perSecond, burst, slip } = this.#limits
    const place = this.#placeOf(networkOf(address))
    const now = this.#now()
    const passed = now - (this.#seen[place] ?? 0)
    const saved = Math.min(burst, (this.#saved[place] ?? 0) + (passed * perSecond) / 1000)
    this.#seen[place] = now
    this.#saved[place] = saved >= 1 ? saved - 1 : saved
    if (saved >= 1) return 'answer'
    const over = ((this.#over[place] ?? 0) + 1) % slip
    this.#over[place] = over
    return over === 0 ? 'truncate' : 'drop'
  }

  /** FNV-1a. */
  #placeOf(network: string): number {
    let hash = this.#seed
    for (let at = 0; at < network.length; at++) hash = Math.imul(hash ^ network.charCodeAt(at), 0x01000193)
    return (hash ^ (hash >>> 16)) & (PLACES - 1)
  }
}
