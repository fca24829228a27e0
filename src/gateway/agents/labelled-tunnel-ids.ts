import { derivedId } from '#base/ids.ts'
import { baseId, connectionId, connectionNumber } from '#registry/agent-connections.ts'
import type { Directory, TunnelRecord } from '#registry/directory.ts'
import type { BoundTunnel, ConnectedAgent } from '#gateway/agents/connected-agent.ts'

const MAX_SESSIONS = 10_000

type Labels = Readonly<Record<string, string>>

export interface EarlierId {
  readonly id: string
  /** Undefined for a new tunnel. */
  readonly startedAt: string | undefined
}

type LostTunnel = Pick<TunnelRecord, 'id' | 'startedAt'>

/** Labels in canonical form, for comparison. */
const labelsKey = (labels: Labels): string =>
  JSON.stringify(Object.entries(labels).toSorted(([left], [right]) => (left < right ? -1 : 1)))

/**
 * The id of a session's `count`th labelled tunnel of its kind. It is derived from what the agent sends again when it
 * reconnects, so it is the same at a gateway without memory of it.
 */
const labelledId = (sessionId: string, labels: Labels, count: number): string =>
  derivedId('tn', sessionId, `${labelsKey(labels)} ${count}`)

/** The labelled tunnel that an agent had on its earlier connection and has not requested again. */
export function tunnelLeft(agent: ConnectedAgent, labels: Labels): LostTunnel | undefined {
  const key = labelsKey(labels)
  const isLeft = ({ bound, record }: BoundTunnel) =>
    !bound && record.address === undefined && labelsKey(record.labels) === key
  return [...agent.tunnels.values()].find(isLeft)?.record
}

/**
 * Labelled tunnels whose agent lost its connection. Its request to restore one has only the labels, but the program
 * behind it keeps using the id it first got.
 */
export class LabelledTunnelIds {
  readonly #directory: Directory
  readonly #left = new Map<string, Map<string, LostTunnel[]>>()

  constructor(directory: Directory) {
    this.#directory = directory
  }

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

  /** The id for a tunnel that an agent binds: that of a lost one, each restored once, or a new one. */
  next(agent: ConnectedAgent, labels: Labels): EarlierId {
    const lost = tunnelLeft(agent, labels) ?? this.#left.get(agent.record.id)?.get(labelsKey(labels))?.shift()
    return lost ?? { id: this.#unusedId(agent, labels), startedAt: undefined }
  }

  /** Never an id that the session has used: some agents close a tunnel several times, and late. */
  #unusedId(agent: ConnectedAgent, labels: Labels): string {
    const { id } = agent.record
    for (;;) {
      const count = agent.countLabelled(labelsKey(labels))
      const candidate = connectionId(labelledId(baseId(id), labels, count), connectionNumber(id))
      if (!this.#directory.tunnels.has(candidate)) return candidate
    }
  }
}
