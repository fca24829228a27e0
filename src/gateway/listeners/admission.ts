import { clientNetwork } from '#base/client-network.ts'
import { FairShare } from '#base/fair-share.ts'

export interface AdmissionLimits {
  /** Connections of all clients together. */
  readonly total: number
  /** Connections of one address. */
  readonly perAddress: number
}

const admissionDefaults: AdmissionLimits = { total: 20_000, perAddress: 256 }

export type Admitted =
  | { readonly ok: true; readonly release: () => void }
  /** `full`: no connection is left. `address`: this address has used its share. */
  | { readonly ok: false; readonly reason: 'full' | 'address' }

/**
 * Counts client connections over all listeners of a process. As they become many, each address may have fewer, so that
 * others still get some. Loopback and trusted proxies have only the total limit: all clients of a reverse proxy have its
 * address.
 */
export class Admission {
  readonly #limits: AdmissionLimits
  readonly #share: FairShare
  readonly #isProxy: (ip: string) => boolean
  #refused = 0

  constructor(limits: Partial<AdmissionLimits> = {}, isProxy: (ip: string) => boolean = () => false) {
    this.#isProxy = isProxy
    this.#limits = { ...admissionDefaults, ...limits }
    this.#share = new FairShare(this.#limits.total)
  }

  get open(): number {
    return this.#share.used
  }

  get refused(): number {
    return this.#refused
  }

  /** `ip` from `plainAddress`. */
  admit(ip: string): Admitted {
    if (this.#share.free < 1) return this.#refuse('full')
    const keys = this.#isProxy(ip) ? [] : keysOf(ip)
    if (keys.some(key => this.#share.held(key) >= this.#limits.perAddress)) return this.#refuse('address')
    const release = this.#share.enter(keys)
    return release === undefined ? this.#refuse('address') : { ok: true, release }
  }

  #refuse(reason: 'full' | 'address'): Admitted {
    this.#refused++
    return { ok: false, reason }
  }
}

/** The key of one client; none for loopback. */
const keysOf = (ip: string): readonly string[] =>
  ip.startsWith('127.') || ip === '::1' ? [] : [clientNetwork(ip)]
