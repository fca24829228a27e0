import { newId } from '#base/ids.ts'
import type { Outcome, Row, Store, Write } from '#store/store.ts'

/** Another server delivers now: whoever did must stop. */
export class NotOurs extends Error {
  override readonly name = 'NotOurs'
}

/** Up to where the outbox was looked through for changes of delivery itself, and who does that. */
const READER = 'event_reader'

interface ReaderBody {
  readonly sequence: number
  /** Null, or absent in a database of an earlier release: whoever comes may take it. */
  readonly owner?: string | null
  /** Raised each time that another server takes it. */
  readonly epoch?: number
}

export interface LeadOptions {
  readonly store: Store
  /** No other process can use the store: nothing has to be renewed. */
  readonly alone: boolean
  readonly leaseMs: number
  readonly now: () => number
  /** Where the first server of an installation begins, and what it writes together with that. */
  readonly begin: () => Promise<{ readonly sequence: number; readonly writes: readonly Write[] }>
}

interface Moment {
  readonly wall: number
  readonly steady: number
}

/** The rest is for clocks that run at different speeds, and for what is on its way when the time is over. */
const SURE = 0.7
const ATTEMPTS = 8

/**
 * Decides which one of the servers on a database delivers what was written to the outbox. That one writes a row every
 * few seconds; another takes over when it has seen the same version of the row for the whole time of the lease. So only
 * lengths of time are compared, each by one server's own clock, and it does not matter what time the clocks show.
 */
export class Lead {
  readonly #options: LeadOptions
  readonly #owner = newId('evs')
  #version = 0
  #sequence = 0
  #epoch = 0
  #seen: Moment
  /** When the write that was the last to succeed was begun; undefined while another server delivers. */
  #since: Moment | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: LeadOptions) {
    this.#options = options
    this.#seen = this.#moment()
  }

  /** True while no other server can have begun to deliver. */
  get held(): boolean {
    const since = this.#since
    if (since === undefined) return false
    const { alone, leaseMs, now } = this.#options
    if (alone) return true
    // A steady clock may stand still while a machine sleeps, and the other one can be set back.
    const past = Math.max(now() - since.wall, performance.now() - since.steady)
    return past < leaseMs * SURE
  }

  /** Which of those who delivered one after another this one is; 0 while it is none of them. */
  get epoch(): number {
    return this.#since === undefined ? 0 : this.#epoch
  }

  /** Everything up to here was looked through. */
  get sequence(): number {
    return this.#sequence
  }

  /** Nothing up to here has to do with delivery itself. It is written with the next write. */
  pass(sequence: number): void {
    this.#sequence = sequence
  }

  /** The same as it is written down, by whoever delivers. */
  async written(): Promise<number> {
    const row = await this.#options.store.get(READER)
    return row ? bodyOf(row).sequence : 0
  }

  /** Takes the lead where it can be had, and prolongs it. */
  look(): Promise<void> {
    return this.#inTurn(async () => {
      const begun = this.#moment()
      if (this.#since !== undefined) {
        if (!this.#options.alone) await this.#put(this.#sequence, []).catch(exceptNotOurs)
        return
      }
      const row = await this.#options.store.get(READER)
      if (row === undefined) return this.#begin(begun)
      this.#see(row)
      if (this.#isFree(row)) await this.#take(row, begun)
    })
  }

  /** Writes down how far the outbox was looked through, and with it what follows. Rejects with `NotOurs`. */
  commit(writes: readonly Write[], sequence = this.#sequence): Promise<Outcome> {
    return this.#inTurn(() => this.#put(sequence, writes))
  }

  /** Lets another server take it at once. */
  release(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#since === undefined) return
      await this.#put(this.#sequence, [], null).catch(exceptNotOurs)
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

  async #put(
    sequence: number,
    writes: readonly Write[],
    owner: string | null = this.#owner,
  ): Promise<Outcome> {
    const { store } = this.#options
    for (let attempt = 0; attempt < ATTEMPTS && this.#since !== undefined; attempt++) {
      const begun = this.#moment()
      const body = { sequence, owner, epoch: this.#epoch }
      const outcome = await store.commit([...writes, readerWrite(body, this.#version + 1)])
      if (outcome.ok)
        this.#became({ ...body, sequence: Math.max(sequence, this.#sequence) }, this.#version + 1, begun)
      if (outcome.ok || outcome.refusal.reason !== 'stale' || outcome.refusal.id !== READER) return outcome
      await this.#lookAgain()
    }
    throw new NotOurs()
  }

  /** A write that seemed to fail may have been made all the same; else another server has taken the lead. */
  async #lookAgain(): Promise<void> {
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

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }
}

const bodyOf = (row: Row): ReaderBody => JSON.parse(row.body) as ReaderBody

function readerWrite(body: ReaderBody, version: number): Write {
  const row = { id: READER, kind: READER, parent: null, version, body: JSON.stringify(body) }
  return { op: version === 1 ? 'insert' : 'update', entry: { row, refs: [], claims: [] } }
}

function exceptNotOurs(error: unknown): void {
  if (!(error instanceof NotOurs)) throw error
}
