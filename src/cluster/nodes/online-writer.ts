import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { NodeStore, OnlineWrite } from '#base/node-store.ts'
import type { Membership } from '#cluster/nodes/membership.ts'
import { complete, type From } from '#cluster/nodes/online-change.ts'
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

export interface OnlineWriterOptions {
  readonly store: Pick<NodeStore, 'write' | 'replace'>
  readonly membership: Membership
  readonly reader: OnlineReader
  /** What the database must have. */
  readonly own: OwnRecords
  /** Another agent has got the address of a tunnel while this node had no lease. */
  readonly lost: (tunnel: TunnelRecord) => void
  readonly log: Log
}

/** Writes what one node has online: in order, in batches, and all of it again when the database has lost it. */
export class OnlineWriter {
  readonly #options: OnlineWriterOptions
  #queue: PendingWrite[] = []
  #flushing: Promise<void> | undefined
  /** The incarnation and epoch in which the database has all that this node has. */
  #written = ''
  #round = 0
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

  enqueue(...pending: PendingWrite[]): void {
    this.#queue.push(...pending)
    if (this.#flushing !== undefined) return
    const background = { task: 'directory', log: this.#options.log } as const
    this.#flushing = inBackground(background, () => this.#flush()).finally(() => {
      this.#flushing = undefined
      if (this.#queue.length > 0) this.enqueue()
    })
  }

  restoreIfLost(): void {
    if (this.#isHeld || this.#isClosed || this.#flushing !== undefined) return
    if (this.#written === this.#generation) return
    const nothing = (): void => undefined
    this.enqueue({ write: complete, done: nothing, failed: nothing })
  }

  get #from(): From & { readonly id: string } {
    const { id, epoch } = this.#options.membership
    return { id, node: id, epoch, round: this.#round }
  }

  get #generation(): string {
    const { reader, membership } = this.#options
    return `${reader.copy.incarnation}:${membership.epoch}`
  }

  /** Writes what waits, in order. What the database cannot take is decided here. */
  async #flush(): Promise<void> {
    // More may be added in the same turn.
    await Promise.resolve()
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, MAX_BATCH)
      try {
        await this.#write(batch)
        this.#isFailing = false
      } catch (error) {
        this.#written = ''
        if (!this.#isFailing) this.#options.log.warn({ error }, 'the directory cannot be written')
        this.#isFailing = true
        for (const { failed } of batch) failed()
      }
    }
  }

  async #write(batch: readonly PendingWrite[]): Promise<void> {
    const { store, reader } = this.#options
    for (;;) {
      const incarnation = await this.#restore()
      const from = this.#from
      const writes = batch.map(({ write }) => write(from))
      const outcome = await store.write(from, incarnation, writes)
      if (outcome.is === 'fenced') await this.#rejoin()
      if (outcome.is === 'lost') this.#written = ''
      if (outcome.is !== 'written') continue
      await reader.applied(outcome)
      for (const [at, { done }] of batch.entries()) done(outcome.refusals[at] as Added | undefined)
      return
    }
  }

  /** Writes all that this node has, if the database has lost it or the epoch is a new one. Returns the incarnation. */
  async #restore(): Promise<string> {
    const { store, reader, own } = this.#options
    while (this.#written !== this.#generation) {
      // A batch that seemed to fail may have been committed: what it wrote is of an earlier round, so followers drop it.
      this.#round++
      const from = this.#from
      const { tunnels, batch } = own.writes(from)
      const outcome = await store.replace(from, [...batch, complete(from)])
      if (outcome.is !== 'written') {
        await this.#rejoin()
        continue
      }
      for (const [at, tunnel] of tunnels.entries()) if (outcome.refusals[at] !== undefined) this.#lose(tunnel)
      own.releaseRest()
      this.#written = `${outcome.incarnation}:${from.epoch}`
      await reader.applied(outcome)
    }
    return reader.copy.incarnation ?? ''
  }

  /** The epoch has ended; the next renewal begins another one. */
  async #rejoin(): Promise<void> {
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
