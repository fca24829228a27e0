/** Chains are shorter; the modules after these have no time. */
const MOST = 24

/**
 * When the modules of each stored request got it and passed it on. As numbers: lists that stay until their slot is used
 * again would be promoted, and the collector would have to move and mark them.
 */
export class ModuleTimes {
  readonly #moments: Float32Array
  readonly #counts: Uint8Array

  constructor(slots: number) {
    this.#moments = new Float32Array(slots * MOST)
    this.#counts = new Uint8Array(slots)
  }

  put(slot: number, times: readonly number[] | undefined, begun: number): void {
    const count = times === undefined ? 0 : Math.min(times.length, MOST)
    this.#counts[slot] = count
    for (let at = 0; at < count; at++) this.#moments[slot * MOST + at] = (times?.[at] ?? Number.NaN) - begun
  }

  /** Milliseconds after the start of the request. */
  of(slot: number): number[] {
    const from = slot * MOST
    const times = this.#moments.subarray(from, from + (this.#counts[slot] ?? 0))
    return [...times].filter(moment => !Number.isNaN(moment))
  }
}
