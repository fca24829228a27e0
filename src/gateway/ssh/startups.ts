import { isIPv6 } from 'node:net'

/** As OpenSSH's MaxStartups and PerSourceMaxStartups: how many may be connected without having signed in. */
export interface StartupLimits {
  /** From this many on some are turned away, ... */
  readonly start: number
  /** ... at first this part of them, rising to all ... */
  readonly rate: number
  /** ... at this many. */
  readonly full: number
  readonly perSource: number
}

export const DEFAULT_STARTUPS: StartupLimits = { start: 10, rate: 0.3, full: 100, perSource: 50 }

/** One source: an IPv4 address, or the /64 that one IPv6 customer has at least. */
export function sourceOf(ip: string): string {
  const address = ip.startsWith('::ffff:') && ip.includes('.') ? ip.slice('::ffff:'.length) : ip
  if (!isIPv6(address)) return address
  const [head = '', tail = ''] = address.split('::')
  const front = head.split(':').filter(Boolean)
  const back = tail.split(':').filter(Boolean)
  const zeros = address.includes('::') ? 8 - front.length - back.length : 0
  return [...front, ...Array<string>(Math.max(0, zeros)).fill('0'), ...back].slice(0, 4).join(':')
}

/** Counts connections that have not signed in, and says which new ones may come in. */
export class Startups {
  readonly #limits: StartupLimits
  readonly #random: () => number
  readonly #bySource = new Map<string, number>()
  #count = 0

  constructor(limits: StartupLimits, random: () => number = Math.random) {
    this.#limits = limits
    this.#random = random
  }

  get count(): number {
    return this.#count
  }

  /** Lets one in and returns how to take it off the count; undefined: turn it away. */
  enter(source: string): (() => void) | undefined {
    const there = this.#bySource.get(source) ?? 0
    if (there >= this.#limits.perSource || this.#random() < this.#refusedPart()) return undefined
    this.#count++
    this.#bySource.set(source, there + 1)
    let inside = true
    return () => {
      if (!inside) return
      inside = false
      this.#leave(source)
    }
  }

  #leave(source: string): void {
    this.#count--
    const left = (this.#bySource.get(source) ?? 1) - 1
    if (left > 0) this.#bySource.set(source, left)
    else this.#bySource.delete(source)
  }

  #refusedPart(): number {
    const { start, rate, full } = this.#limits
    if (this.#count < start) return 0
    if (this.#count >= full) return 1
    return rate + ((1 - rate) * (this.#count - start)) / (full - start)
  }
}
