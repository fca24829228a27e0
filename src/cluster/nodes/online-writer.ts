import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { NodeStore, OnlineWrite } from '#base/node-store.ts'
import type { Membership } from '#cluster/nodes/membership.ts'
import { begin, complete, type From, type OwnRecord, ownRecordOf } from '#cluster/nodes/online-change.ts'
import type { OnlineReader } from '#cluster/nodes/online-reader.ts'
import type { OwnRecords } from '#cluster/nodes/own-records.ts'
import type { Added, TunnelRecord } from '#registry/directory.ts'

const MAX_BATCH = 500

/** A write that waits for its transaction. */
export interface PendingWrite {
  readonly write: (from: From) => OnlineWrite
  /** Undefined: not refused. */
  readonly done: (refusal: Added | undefined) => void
  /** The database does not respond. */
  readonly failed: () => void
}

interface OnlineWriterOptions {
  readonly store: Pick<NodeStore, 'write'>
  readonly membership: Membership
  readonly reader: OnlineReader
  /** What the database must have. */
  readonly own: OwnRecords
  /** Another agent has got the address of a tunnel while this node had no lease. */
  readonly lost: (tunnel: TunnelRecord) => void
  readonly log: Log
}

/**
 * Writes what one node has online: in order and in batches. What the database has lost, or may not have taken, is
 * written again, page by page: one that fails does not void those before it.
 */
export class OnlineWriter {
  readonly #options: OnlineWriterOptions
  #queue: PendingWrite[] = []
  #flushing: Promise<void> | undefined
  /** The incarnation and epoch in which this node writes, and whether the database has had all that it has. */
  #begun = ''
  #isComplete = false
  /** Records whose rows are missing or unknown, by their ids. */
  readonly #due = new Map<string, OwnRecord>()
  #isFailing = false
  #isHeld = false
  #isClosed = false

  constructor(options: OnlineWriterOptions) {
    this.#options = options
  }

  /** Keeps what the database has of this node until `continue`. */
  hold(): void {
    this.#isHeld = true
  }

  continue(): void {
    this.#isHeld = false
    this.restoreIfLost()
  }

  /** Resolves when the database has what waits now, or has failed to take it. */
  async settled(): Promise<void> {
    await this.#flushing
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#flushing
  }

  enqueue(pending: PendingWrite): void {
    this.#queue.push(pending)
    this.#start()
  }

  restoreIfLost(): void {
    if (!this.#isHeld && !this.#isClosed && !this.#isRestored) this.#start()
  }

  get #isRestored(): boolean {
    return this.#begun === this.#generation && this.#isComplete && this.#due.size === 0
  }

  get #from(): From & { readonly id: string } {
    const { id, epoch } = this.#options.membership
    return { id, node: id, epoch }
  }

  get #generation(): string {
    const { reader, membership } = this.#options
    return generation(reader.copy.incarnation, membership.epoch)
  }

  #start(): void {
    if (this.#flushing !== undefined) return
    const background = { task: 'directory', log: this.#options.log } as const
    this.#flushing = inBackground(background, () => this.#flush()).finally(() => {
      this.#flushing = undefined
      if (this.#queue.length > 0) this.#start()
    })
  }

  /** Writes what waits, in order. What the database cannot take is decided here. */
  async #flush(): Promise<void> {
    // More may be added in the same turn.
    await Promise.resolve()
    do {
      const batch = this.#queue.splice(0, MAX_BATCH)
      try {
        await this.#write(batch)
        this.#isFailing = false
      } catch (error) {
        if (!this.#isFailing) this.#options.log.warn({ error }, 'the directory cannot be written')
        this.#isFailing = true
        this.#fail(batch)
      }
    } while (this.#queue.length > 0)
  }

  /** A batch that seemed to fail may have been committed, so the rows of its records are unknown. */
  #fail(batch: readonly PendingWrite[]): void {
    const from = this.#from
    for (const { write, failed } of batch) {
      failed()
      const record = ownRecordOf(write(from), from.node)
      if (record !== undefined) this.#due.set(record.id, record)
    }
  }

  async #write(batch: readonly PendingWrite[]): Promise<void> {
    const { store, reader } = this.#options
    for (;;) {
      const incarnation = await this.#restore()
      if (batch.length === 0) return
      const from = this.#from
      const writes = batch.map(({ write }) => write(from))
      const outcome = await store.write(from, incarnation, writes)
      if (outcome.is !== 'written') {
        await this.#beginAgain(outcome.is)
        continue
      }
      await reader.applied(outcome)
      for (const [at, { done }] of batch.entries()) done(outcome.refusals[at] as Added | undefined)
      return
    }
  }

  /** Writes until the database has all that this node has. Returns the incarnation. */
  async #restore(): Promise<string> {
    const { store, membership, reader, own } = this.#options
    while (!this.#isRestored) {
      const isFirst = this.#begun !== this.#generation
      if (isFirst) {
        this.#isComplete = false
        for (const record of own.all) this.#due.set(record.id, record)
      }
      const records = [...this.#due.values()].slice(0, MAX_BATCH)
      const isLast = records.length === this.#due.size && !this.#isComplete
      const from = this.#from
      const page = records.map(({ id, remove }) => own.write(id, from) ?? remove(from))
      const outcome = await store.write(from, isFirst ? undefined : reader.copy.incarnation, [
        ...page,
        ...(isFirst ? [begin] : []),
        ...(isLast ? complete(from) : []),
      ])
      if (outcome.is !== 'written') {
        await this.#beginAgain(outcome.is)
        continue
      }
      this.#begun = generation(outcome.incarnation, from.epoch)
      for (const { id } of records) this.#due.delete(id)
      for (const [at, written] of page.entries()) this.#settle(written, outcome.refusals[at])
      if (isLast) {
        this.#isComplete = true
        own.releaseRest()
      }
      await reader.applied(outcome)
      if (isLast) membership.confirm(from.epoch)
    }
    return reader.copy.incarnation ?? ''
  }

  #settle(written: OnlineWrite, refusal: unknown): void {
    const { own } = this.#options
    if (written.op === 'drop_tunnel') own.release(written.id)
    const refused = written.op === 'put_tunnel' && refusal !== undefined ? written.tunnel : undefined
    const tunnel = refused && own.tunnel(refused.id)
    if (tunnel !== undefined) this.#lose(tunnel)
  }

  /** The database has lost what this node had written, or its epoch has ended: the next renewal begins another one. */
  async #beginAgain(why: 'lost' | 'fenced'): Promise<void> {
    this.#begun = ''
    if (why === 'lost') return
    const { membership } = this.#options
    await membership.refresh()
    if (membership.isFailing || this.#isClosed) throw new Error('The node has no lease.')
  }

  #lose(tunnel: TunnelRecord): void {
    const { own, reader, membership, lost } = this.#options
    own.delete(tunnel.id)
    reader.copy.dropTunnel(tunnel.id, membership.id, false)
    lost(tunnel)
  }
}

const generation = (incarnation: string | undefined, epoch: number): string => `${incarnation}:${epoch}`
