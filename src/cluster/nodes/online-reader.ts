import type { Log } from '#base/log.ts'
import { CHANGES_PAGE, type NodeStore, type OnlineOutcome } from '#base/node-store.ts'
import { SerialQueue } from '#base/serial-queue.ts'
import type { Membership } from '#cluster/nodes/membership.ts'
import { type OnlineChange, readChange } from '#cluster/nodes/online-change.ts'
import { OnlineCopy } from '#cluster/nodes/online-copy.ts'
import { SnapshotRecords } from '#cluster/nodes/snapshot-records.ts'

/** A notification may be lost. */
const POLL_MS = 2000

interface OnlineReaderOptions {
  readonly store: Pick<NodeStore, 'snapshot' | 'changes'>
  readonly membership: Membership
  readonly log: Log
  /** Another node has a record with this id now. */
  readonly moved: (id: string) => void
  /** Another node has removed this record of this one: an agent there got its address. */
  readonly evicted: (id: string) => void
  /** Everything was read again, perhaps because the database has lost what it had. */
  readonly loaded: () => void
}

/** Keeps the copy of a node up to date. */
export class OnlineReader implements AsyncDisposable {
  readonly copy: OnlineCopy
  readonly #options: OnlineReaderOptions
  readonly #reads = new SerialQueue()
  #isReading = false
  #isWaking = false
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: OnlineReaderOptions) {
    this.#options = options
    this.copy = new OnlineCopy(options.log)
  }

  async start(): Promise<void> {
    await this.read()
    this.#schedule()
  }

  /** Something may have changed. */
  wake(): void {
    if (this.#isWaking || this.#isClosed) return
    this.#isWaking = true
    void this.#reads.settled().then(() => {
      this.#isWaking = false
      return this.#catchUp()
    })
  }

  /** Reads all changes that were committed before this call. */
  read(): Promise<void> {
    return this.#reads.run(async () => {
      this.#isReading = true
      try {
        await this.#readOn()
      } finally {
        this.#isReading = false
      }
    })
  }

  /** The copy has these changes when this resolves, unless the database server has lost them. */
  async applied({ incarnation, before, texts }: Extract<OnlineOutcome, { is: 'written' }>): Promise<void> {
    const isNext = incarnation === this.copy.incarnation && before === this.copy.sequence
    if (isNext && !this.#isReading) this.#follow(texts.map(readChange))
    else await this.read()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#reads.settled()
  }

  /** A database that does not respond is logged with the lease. */
  #catchUp(): Promise<void> {
    return this.#isClosed ? Promise.resolve() : this.read().catch(() => undefined)
  }

  #schedule(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      void this.#catchUp().then(() => this.#schedule())
    }, POLL_MS).unref()
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const { incarnation, sequence } = this.copy
      const texts =
        incarnation === undefined ? undefined : await this.#options.store.changes(incarnation, sequence)
      if (texts === undefined) return this.#load()
      if (texts.length > 0) {
        const changes = texts.map(readChange)
        await this.#knowNodesOf(changes)
        this.#follow(changes)
      }
      // What is committed from now on wakes this again.
      if (texts.length < CHANGES_PAGE) return
    }
  }

  #follow(changes: readonly OnlineChange[]): void {
    for (const change of changes) {
      this.#noteOwn(change)
      this.copy.follow(change)
    }
  }

  /** What another node has done to the records of this one. Changes of kinds that only later versions know do nothing. */
  #noteOwn(change: OnlineChange): void {
    const { membership, moved, evicted } = this.#options
    const isOwn = change.node === membership.id
    if (change.is === 'session' || change.is === 'tunnel') {
      if (!isOwn) moved(change.record.id)
    } else if (change.is === 'session_gone' || change.is === 'tunnel_gone') {
      if (isOwn && (change.by ?? membership.id) !== membership.id) evicted(change.id)
    }
  }

  /** A node may be newer than what is known of the nodes. */
  async #knowNodesOf(changes: readonly OnlineChange[]): Promise<void> {
    const { membership } = this.#options
    if (changes.some(({ node }) => !membership.nodes.has(node))) await membership.refresh()
  }

  async #load(): Promise<void> {
    const { store, membership, loaded } = this.#options
    const records = new SnapshotRecords()
    const state = await store.snapshot(records)
    this.copy.load(state, records, node => node === membership.id || membership.counts(node))
    loaded()
  }
}
