export type StoreErrorCode =
  /** A newer version of the program has migrated this database. */
  | 'newer_schema'
  /** Another process holds the database. */
  | 'locked'
  /** No response in time, or a lost connection: a later retry makes sense. */
  | 'unavailable'
  /** The connection was lost during a commit: it may or may not have taken effect. */
  | 'uncertain'
  /** The database accepts only reads at the moment, as during a failover. */
  | 'read_only'
  /** No space is left for the database. */
  | 'full'
  /** A retry is useless: damaged, not a database, no access, or data that it cannot store. */
  | 'unusable'

/** What went wrong with the database itself, as opposed to a `Refusal` of one batch. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code: StoreErrorCode

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
