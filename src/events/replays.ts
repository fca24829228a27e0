import { randomPart } from '#base/ids.ts'
import { CURSORS } from '#events/cursor.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Row, Store, Write } from '#store/store.ts'

/** A requested replay of a delivery's dead letters. It stays until it is done, by any server. */
const REPLAYS = 'event_replay'

export interface Replay {
  readonly cursorId: string
  /** Raised when it is requested again meanwhile. */
  readonly version: number
}

/** Replays requested at any server, for the leader. */
export class Replays {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** False when there is no such delivery. */
  ask(cursorId: string): Promise<boolean> {
    const attempt = async (): Promise<boolean | typeof CONFLICT> => {
      const [cursor, mark] = await this.#found(cursorId)
      if (cursor?.kind !== CURSORS) return false
      const row = { ...markOf(cursorId), version: (mark?.version ?? 0) + 1 }
      const op = mark ? 'update' : 'insert'
      const outcome = await this.#store.commit([{ op, entry: { row, refs: [], claims: [] } }])
      return outcome.ok || CONFLICT
    }
    return retryOnConflict(attempt, () => {
      throw new Error('The mark for sending dead letters again is changed by others all the time.')
    })
  }

  async list(): Promise<Replay[]> {
    const rows = await Array.fromAsync(rowsOf(this.#store, REPLAYS))
    return rows.flatMap(({ parent, version }) => (parent === null ? [] : { cursorId: parent, version }))
  }

  async #found(cursorId: string): Promise<readonly (Row | undefined)[]> {
    const markId = markOf(cursorId).id
    const rows = await this.#store.getMany([cursorId, markId])
    return [cursorId, markId].map(id => rows.find(row => row.id === id))
  }
}

const markOf = (cursorId: string): Omit<Row, 'version'> => ({
  id: `edp_${randomPart(cursorId)}`,
  kind: REPLAYS,
  parent: cursorId,
  body: '{}',
})

/** It is done. Rejected when it was requested again. */
export const replayDone = ({ cursorId, version }: Replay): Write => ({
  op: 'remove',
  id: markOf(cursorId).id,
  version,
})

/** The writes that drop the replay requests of a delivery. */
export async function replayRemovals(store: Store, cursorId: string): Promise<Write[]> {
  const row = await store.get(markOf(cursorId).id)
  return row ? [{ op: 'remove', id: row.id, version: row.version }] : []
}
