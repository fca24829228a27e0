import type { OnlineRow, SnapshotReader } from '#base/node-store.ts'
import { readSession, readTunnel } from '#cluster/nodes/online-record.ts'
import type { SessionRecord, TunnelRecord } from '#registry/directory.ts'

/** What one node has written in one epoch. */
interface EpochRecords {
  readonly node: string
  readonly epoch: number
  readonly sessions: SessionRecord[]
  readonly tunnels: TunnelRecord[]
}

/** Parses a snapshot row by row, so that the texts of all rows are never in memory together. */
export class SnapshotRecords implements SnapshotReader {
  readonly #epochs = new Map<number, EpochRecords>()

  get epochs(): Iterable<EpochRecords> {
    return this.#epochs.values()
  }

  session(row: OnlineRow): void {
    this.#of(row).sessions.push(readSession(row.body))
  }

  tunnel(row: OnlineRow): void {
    this.#of(row).tunnels.push(readTunnel(row.body))
  }

  #of({ node, epoch }: OnlineRow): EpochRecords {
    const known = this.#epochs.get(epoch)
    if (known !== undefined) return known
    const records = { node, epoch, sessions: [], tunnels: [] }
    this.#epochs.set(epoch, records)
    return records
  }
}
