import { newId } from '#base/ids.ts'
import { SerialQueue } from '#base/serial-queue.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import type { CommitOutcome, Row, Store, Write } from '#store/store.ts'

/** Another server is the leader now: this one must stop. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

export function leaseLost(): never {
  throw new LeaseLost()
}

/** The position up to which the outbox was scanned for changes of subscriptions, and the leader. */
const READER = 'event_reader'

interface ReaderBody {
  readonly sequence: number
  /** Null, or absent in a database of an earlier release: free to take. */
  readonly owner?: string | null
  /** Raised at each change of the leader. */
  readonly epoch?: number
}

interface LeaderLeaseOptions {
  readonly store: Store
  /** No other process can use the store: nothing has to be renewed. */
  readonly alone: boolean
  readonly leaseMs: number
  readonly now: () => number
  /** Where the first server of an installation starts, and what it writes with that. */
  readonly begin: () => Promise<{ readonly sequence: number; readonly writes: readonly Write[] }>
}

interface Moment {
  readonly wall: number
  readonly steady: number
}

/** The rest is a margin for clock drift, and for what is in flight when the time is over. */
const SURE = 0.7

/**
 * Leader election among the servers on a database. The leader writes a row every few seconds; another server takes over
 * when it has seen the same row version for the whole lease. Only durations are compared, each by one server's own
 * clock, so clock settings do not matter.
 */
export class LeaderLease {
  readonly #options: LeaderLeaseOptions
  readonly #owner = newId('evs')
  readonly #queue = new SerialQueue()
  #version = 0
  #sequence = 0
  #epoch = 0
  #seen: Moment
  /** When the last successful write was started; undefined while another server is the leader. */
  #since: Moment | undefined

  constructor(options: LeaderLeaseOptions) {
    this.#options = options
    this.#seen = this.#moment()
  }

  /** True while no other server can have become leader. */
  get isLeader(): boolean {
    const since = this.#since
    if (since === undefined) return false
    const { alone, leaseMs, now } = this.#options
    if (alone) return true
    // A monotonic clock may stop while a machine sleeps, and the other one can be set back.
    const past = Math.max(now() - since.wall, performance.now() - since.steady)
    return past < leaseMs * SURE
  }

  /** The epoch of this leader; 0 while it is not the leader. */
  get epoch(): number {
    return this.#since === undefined ? 0 : this.#epoch
  }

  /** Everything up to here was scanned. */
  get sequence(): number {
    return this.#sequence
  }

  /** Nothing up to here affects subscriptions. It is stored with the next write. */
  advance(sequence: number): void {
    this.#sequence = sequence
  }

  /** The stored position, by any leader. */
  async written(): Promise<number> {
    const row = await this.#options.store.get(READER)
    return row ? bodyOf(row).sequence : 0
  }

  /** Takes or renews the lease, if possible. */
  renew(): Promise<void> {
    return this.#queue.run(async () => {
      const begun = this.#moment()
      if (this.#since !== undefined) {
        if (!this.#options.alone) await this.#put(this.#sequence, []).catch(exceptLeaseLost)
        return
      }
      const row = await this.#options.store.get(READER)
      if (row === undefined) return this.#begin(begun)
      this.#see(row)
      if (this.#isFree(row)) await this.#take(row, begun)
    })
  }

  /** Stores the scan position, together with further writes. Rejects with `LeaseLost`. */
  commit(writes: readonly Write[], sequence = this.#sequence): Promise<CommitOutcome> {
    return this.#queue.run(() => this.#put(sequence, writes))
  }

  /** Releases the lease at once. */
  release(): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#since === undefined) return
      await this.#put(this.#sequence, [], null).catch(exceptLeaseLost)
      this.#since = undefined
    })
  }

  async #begin(begun: Moment): Promise<void> {
    const { sequence, writes } = await this.#options.begin()
    const body = { sequence, owner: this.#owner, epoch: 1 }
    const outcome = await this.#options.store.commit([...writes, readerWrite(body, 1)])
    if (outcome.ok) this.#became(body, 1, begun)
  }

  async #take(row: Row, begun: Moment): Promise<void> {
    const { sequence, epoch = 0 } = bodyOf(row)
    const body = { sequence, owner: this.#owner, epoch: epoch + 1 }
    const outcome = await this.#options.store.commit([readerWrite(body, row.version + 1)])
    if (outcome.ok) this.#became(body, row.version + 1, begun)
  }

  #became({ sequence, epoch }: Required<ReaderBody>, version: number, begun: Moment): void {
    this.#version = version
    this.#sequence = sequence
    this.#epoch = epoch
    this.#since = begun
  }

  #isFree(row: Row): boolean {
    const { alone, leaseMs } = this.#options
    const { owner = null } = bodyOf(row)
    return alone || owner === null || performance.now() - this.#seen.steady >= leaseMs
  }

  #put(
    sequence: number,
    writes: readonly Write[],
    owner: string | null = this.#owner,
  ): Promise<CommitOutcome> {
    const { store } = this.#options
    const attempt = async (): Promise<CommitOutcome | typeof CONFLICT> => {
      if (this.#since === undefined) return leaseLost()
      const begun = this.#moment()
      const body = { sequence, owner, epoch: this.#epoch }
      const outcome = await store.commit([...writes, readerWrite(body, this.#version + 1)])
      if (outcome.ok)
        this.#became({ ...body, sequence: Math.max(sequence, this.#sequence) }, this.#version + 1, begun)
      if (outcome.ok || outcome.refusal.reason !== 'stale' || outcome.refusal.id !== READER) return outcome
      await this.#reread()
      return CONFLICT
    }
    return retryOnConflict(attempt, leaseLost)
  }

  /** A write that seemed to fail may have been committed; otherwise another server has become leader. */
  async #reread(): Promise<void> {
    const row = await this.#options.store.get(READER)
    const { owner, epoch }: Partial<ReaderBody> = row ? bodyOf(row) : {}
    if (owner !== this.#owner || epoch !== this.#epoch) this.#since = undefined
    if (row) this.#see(row)
  }

  #see({ version }: Row): void {
    if (version === this.#version) return
    this.#version = version
    this.#seen = this.#moment()
  }

  #moment(): Moment {
    return { wall: this.#options.now(), steady: performance.now() }
  }
}

const bodyOf = (row: Row): ReaderBody => JSON.parse(row.body) as ReaderBody

function readerWrite(body: ReaderBody, version: number): Write {
  const row = { id: READER, kind: READER, parent: null, version, body: JSON.stringify(body) }
  return { op: version === 1 ? 'insert' : 'update', entry: { row, refs: [], claims: [] } }
}

function exceptLeaseLost(error: unknown): void {
  if (!(error instanceof LeaseLost)) throw error
}
