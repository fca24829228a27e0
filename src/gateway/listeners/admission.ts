import { parseRange } from '#base/addresses.ts'

export interface AdmissionLimits {
  /** Connections of all visitors together. */
  readonly total: number
  /** Connections of one address. */
  readonly perAddress: number
}

export const admissionDefaults: AdmissionLimits = { total: 20_000, perAddress: 256 }

export type Admitted =
  | { readonly ok: true; readonly leave: () => void }
  /** `full`: there is no room for anybody. `address`: this address has its share. */
  | { readonly ok: false; readonly reason: 'full' | 'address' }

/**
 * Counts the connections of visitors, over all listeners of a process. Loopback is held to the total alone: behind a
 * reverse proxy on the same machine all visitors come from there, and nobody else can.
 */
export class Admission {
  readonly #limits: AdmissionLimits
  // Bounded by the total, as every entry has at least one connection.
  readonly #addresses = new Map<string, number>()
  #open = 0
  #refused = 0

  constructor(limits: Partial<AdmissionLimits> = {}) {
    this.#limits = { ...admissionDefaults, ...limits }
  }

  get open(): number {
    return this.#open
  }

  get refused(): number {
    return this.#refused
  }

  /** `ip` as `plainAddress` gives it. */
  admit(ip: string): Admitted {
    if (this.#open >= this.#limits.total) return this.#refuse('full')
    const key = keyOf(ip)
    const held = key === undefined ? 0 : (this.#addresses.get(key) ?? 0)
    if (held >= this.#limits.perAddress) return this.#refuse('address')
    this.#open++
    if (key !== undefined) this.#addresses.set(key, held + 1)
    let inside = true
    const leave = (): void => {
      if (!inside) return
      inside = false
      this.#open--
      if (key !== undefined) this.#release(key)
    }
    return { ok: true, leave }
  }

  #refuse(reason: 'full' | 'address'): Admitted {
    this.#refused++
    return { ok: false, reason }
  }

  #release(key: string): void {
    const rest = (this.#addresses.get(key) ?? 0) - 1
    if (rest > 0) this.#addresses.set(key, rest)
    else this.#addresses.delete(key)
  }
}

/** What counts as one address; undefined for loopback. */
function keyOf(ip: string): string | undefined {
  if (ip.startsWith('127.') || ip === '::1') return undefined
  // Whoever has one IPv6 address has all 2^64 of its network.
  return ip.includes(':') ? (parseRange(`${ip}/64`)?.address ?? ip) : ip
}
