import type { SeriesUsage } from '#telemetry/usage/series-usage.ts'

/** Further keys are not counted until the next `take`. */
const MAX_KEYS = 10_000

/** API requests by key since the last `take`. */
export class KeyUses {
  readonly #uses = new Map<string, { readonly owner: string; requests: number }>()

  count(key: string, owner: string): void {
    const use = this.#uses.get(key)
    if (use !== undefined) use.requests++
    else if (this.#uses.size < MAX_KEYS) this.#uses.set(key, { owner, requests: 1 })
  }

  take(): SeriesUsage[] {
    const taken = Array.from(this.#uses, ([name, use]): SeriesUsage => ({
      by: 'api_key',
      name,
      ...use,
      errors: 0,
      bytesIn: 0,
      bytesOut: 0,
      latency: '',
    }))
    this.#uses.clear()
    return taken
  }
}
