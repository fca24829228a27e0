import type { Held } from '#gateway/sessions/entry.ts'

const MAX_SESSIONS = 10_000

type Labels = Readonly<Record<string, string>>

/**
 * The ids of labelled tunnels whose agent lost its connection. Its request to have one back carries only the labels, but
 * the program behind it goes on using the id it was first given.
 */
export class LabelMemory {
  readonly #left = new Map<string, Map<string, string[]>>()

  static key(labels: Labels): string {
    return JSON.stringify(Object.entries(labels).toSorted(([left], [right]) => (left < right ? -1 : 1)))
  }

  keep(sessionId: string, tunnels: Iterable<Held>): void {
    const ids = new Map<string, string[]>()
    for (const { record } of tunnels) {
      if (record.address !== undefined) continue
      const key = LabelMemory.key(record.labels)
      ids.set(key, [...(ids.get(key) ?? []), record.id])
    }
    this.#left.delete(sessionId)
    if (ids.size === 0) return
    this.#left.set(sessionId, ids)
    const [oldest] = this.#left.keys()
    if (this.#left.size > MAX_SESSIONS && oldest !== undefined) this.#left.delete(oldest)
  }

  /** Each id is given back once. */
  take(sessionId: string, labels: Labels): string | undefined {
    return this.#left.get(sessionId)?.get(LabelMemory.key(labels))?.shift()
  }
}
