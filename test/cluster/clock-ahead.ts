/** Preloaded into a server: its machine's clock is more than an hour ahead. Clocks that only count are right. */
const AHEAD_MS = 61 * 60_000
const RealDate = Date

globalThis.Date = class extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(RealDate.now() + AHEAD_MS)
    else super(...(given as [number]))
  }

  static override now(): number {
    return RealDate.now() + AHEAD_MS
  }
} as DateConstructor
