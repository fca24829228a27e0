import type { UsageStore } from '#store/usage.ts'

/** One stored resource. `body` is JSON text that the store never parses. */
export interface Row {
  readonly id: string
  readonly kind: string
  /** The parent row, which this one cannot outlive. */
  readonly parent: string | null
  /** 1 on insert; raised by one on each update. */
  readonly version: number
  readonly body: string
}

/** A value that at most one row may hold within its namespace: a domain, a port, the hash of a token. */
export interface Claim {
  readonly namespace: string
  readonly value: string
}

/** A row together with what it refers to and what it claims; an update replaces all three. */
export interface RowEntry {
  readonly row: Row
  readonly refs: readonly string[]
  readonly claims: readonly Claim[]
}

/** An entry of the event outbox. `body` is the JSON envelope as it will be delivered. */
export interface EventRecord {
  readonly id: string
  readonly type: string
  readonly at: string
  readonly body: string
}

export type Write =
  | { readonly op: 'insert'; readonly entry: RowEntry }
  /** `entry.row.version` is the new version; the stored one must be exactly one lower. */
  | { readonly op: 'update'; readonly entry: RowEntry }
  | { readonly op: 'remove'; readonly id: string; readonly version: number }
  /** The batch applies only if this row still has this version. */
  | { readonly op: 'expect'; readonly id: string; readonly version: number }
  | { readonly op: 'event'; readonly event: EventRecord }

/** Why a batch was rejected as a whole; nothing of it was written. */
export type CommitRefusal =
  /** A row was changed or deleted since it was read. */
  | { readonly reason: 'stale'; readonly id: string }
  /** An inserted row's id already exists. */
  | { readonly reason: 'exists'; readonly id: string }
  /** `id` would refer to, or belong to, a row that does not exist. */
  | { readonly reason: 'missing'; readonly id: string; readonly target: string }
  /** `id` cannot be deleted: `by` (one of possibly many) still refers to it or belongs to it. */
  | { readonly reason: 'in_use'; readonly id: string; readonly by: string }
  /** Another row, `owner`, holds the claim. */
  | { readonly reason: 'claimed'; readonly claim: Claim; readonly owner: string }

export type CommitOutcome =
  { readonly ok: true; readonly revision: number } | { readonly ok: false; readonly refusal: CommitRefusal }

export interface RowPage {
  readonly parent?: string
  /** Only rows with a smaller id, which by the order of ids means older ones. */
  readonly before?: string
  readonly limit: number
}

export interface RowChange {
  readonly revision: number
  readonly kind: string
  readonly id: string
  readonly op: 'insert' | 'update' | 'remove'
}

export interface PruneLimits {
  readonly changesUpTo: number
  readonly eventsBefore: string
  /** A sequence number; any when absent. */
  readonly eventsUpTo?: number
}

/**
 * The database interface of the platform. Every driver passes test/store/store.test.ts. Every method rejects with a
 * `StoreError` when the database fails; the next call works again as soon as the database does.
 */
export interface Store extends AsyncDisposable {
  /** Another process starts to use the database too: caches that it may invalidate are disabled. */
  share(): void
  /** The other process has exited. Rejects with `locked` while it has not. */
  own(): Promise<void>
  get(id: string): Promise<Row | undefined>
  /** The rows that exist among `ids`, in no particular order. */
  getMany(ids: readonly string[]): Promise<Row[]>
  /** The row that holds a claim. */
  holder(claim: Claim): Promise<Row | undefined>
  /** Newest first: ids are time-ordered, so this is the order of ids, descending, byte by byte. */
  list(kind: string, page: RowPage): Promise<Row[]>
  /** Rows that refer to `id`, at most `limit` of them, ordered by id. */
  referrers(id: string, limit: number): Promise<Row[]>
  /**
   * Atomic. Resolves only when the batch is durable. Batches take effect one after another, and within a batch each
   * write sees the ones before it; the first that fails determines the refusal. When it rejects nothing was
   * acknowledged: after a lost connection the batch may still have been committed.
   */
  commit(batch: readonly Write[]): Promise<CommitOutcome>
  /**
   * Calls back after each group of batches that this process has committed, with the revision of the last, so that it
   * need not poll for its own writes.
   */
  onCommit(listener: (revision: number) => void): void
  /**
   * The number of the latest change; every insert, update and remove raises it by exactly one. Not a promise if it is
   * known without a read.
   */
  revision(): Promise<number> | number
  /**
   * Changes after the revision `after` in order, without gaps, at most `limit`. A first one above `after + 1`, or none
   * although `revision()` is above `after`, means that those in between were pruned. A caller that has read the
   * revision `known` may not need a query; later changes may be missing then.
   */
  changes(after: number, limit: number, known?: number): Promise<RowChange[]>
  /**
   * The rows that these changes wrote, as far as no query is needed: undefined if one of them, or a change between them
   * and the revision `known`, may only be in the database.
   */
  recentRows(changes: readonly RowChange[], known: number): Row[] | undefined
  /** The outbox in the order of commits: events after the one with sequence number `after`. */
  events(after: number, limit: number): Promise<(EventRecord & { readonly sequence: number })[]>
  /** The sequence number of the latest event, pruned or not; 0 before the first one. */
  lastSequence(): Promise<number>
  event(id: string): Promise<EventRecord | undefined>
  /** Events that are still kept by id, newest first; only those with a smaller id than `before`. */
  newestEvents(page: { readonly before?: string; readonly limit: number }): Promise<EventRecord[]>
  /** Metadata of the installation, such as the id of the master key. */
  readMeta(key: string): Promise<string | undefined>
  /** Writes only if the key has no value yet; resolves to the value afterwards. */
  claimMeta(key: string, value: string): Promise<string>
  /** Prunes changes up to a revision, and events older than a time (RFC 3339) and no later than `eventsUpTo`. */
  prune(limits: PruneLimits): Promise<void>
  readonly usage: UsageStore
  /** Resolves when the database responds; rejects with the reason otherwise. */
  ping(): Promise<void>
  /** Resolves when a write was durable, and there was space for a larger one; it changes nothing visible. */
  tryWrite(): Promise<void>
}
