export type StoreErrorCode =
  /** A newer version of the program has migrated this database. */
  | 'newer_schema'
  /** Another process holds the database. */
  | 'locked'
  /** No answer in time, or the connection was lost: trying again later makes sense. */
  | 'unavailable'
  /** The connection was lost while a commit was under way: it may or may not have taken effect. */
  | 'uncertain'
  /** No space is left for the database. */
  | 'full'
  /** Trying again will not help: damaged, not a database, no access, or data that it cannot hold. */
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
