import { derivedId } from '#base/ids.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Held } from '#gateway/agents/entry.ts'

const MAX_SESSIONS = 10_000

type Labels = Readonly<Record<string, string>>
export type Left = Pick<TunnelRecord, 'id' | 'startedAt'>

/** Labels in one spelling, to compare them. */
export const labelsKey = (labels: Labels): string =>
  JSON.stringify(Object.entries(labels).toSorted(([left], [right]) => (left < right ? -1 : 1)))

/**
 * The id of the labelled tunnel that a session asks for as the `count`th of its kind. It follows from what the agent
 * says again when it returns, so that it has the same id at a gateway that knows nothing of before.
 */
export const labelledId = (sessionId: string, labels: Labels, count: number): string =>
  derivedId('tn', sessionId, `${labelsKey(labels)} ${count}`)

/**
 * Labelled tunnels whose agent lost its connection. Its request to have one back carries only the labels, but the
 * program behind it goes on using the id it was first given.
 */
export class LabelMemory {
  readonly #left = new Map<string, Map<string, Left[]>>()

  keep(sessionId: string, tunnels: Iterable<Held>): void {
    const kept = new Map<string, Left[]>()
    for (const { record } of tunnels) {
      if (record.address !== undefined) continue
      const key = labelsKey(record.labels)
      kept.set(key, [...(kept.get(key) ?? []), { id: record.id, startedAt: record.startedAt }])
    }
    this.#left.delete(sessionId)
    if (kept.size === 0) return
    this.#left.set(sessionId, kept)
    const [oldest] = this.#left.keys()
    if (this.#left.size > MAX_SESSIONS && oldest !== undefined) this.#left.delete(oldest)
  }

  /** Each is given back once. */
  take(sessionId: string, labels: Labels): Left | undefined {
    return this.#left.get(sessionId)?.get(labelsKey(labels))?.shift()
  }
}
