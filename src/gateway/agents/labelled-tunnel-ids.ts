import { derivedId } from '#base/ids.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { BoundTunnel } from '#gateway/agents/connected-agent.ts'

const MAX_SESSIONS = 10_000

type Labels = Readonly<Record<string, string>>
export type LostTunnel = Pick<TunnelRecord, 'id' | 'startedAt'>

/** Labels in canonical form, for comparison. */
export const labelsKey = (labels: Labels): string =>
  JSON.stringify(Object.entries(labels).toSorted(([left], [right]) => (left < right ? -1 : 1)))

/**
 * The id of a session's `count`th labelled tunnel of its kind. It is derived from what the agent sends again when it
 * reconnects, so it is the same at a gateway without memory of it.
 */
export const labelledId = (sessionId: string, labels: Labels, count: number): string =>
  derivedId('tn', sessionId, `${labelsKey(labels)} ${count}`)

/**
 * Labelled tunnels whose agent lost its connection. Its request to restore one has only the labels, but the program
 * behind it keeps using the id it first got.
 */
export class LabelledTunnelIds {
  readonly #left = new Map<string, Map<string, LostTunnel[]>>()

  keep(sessionId: string, tunnels: Iterable<BoundTunnel>): void {
    const kept = new Map<string, LostTunnel[]>()
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

  /** Each is restored once. */
  take(sessionId: string, labels: Labels): LostTunnel | undefined {
    return this.#left.get(sessionId)?.get(labelsKey(labels))?.shift()
  }
}
