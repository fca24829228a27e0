/** The API rejected a request; the message is the server's own. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** Such as `ERR_ADIT_413`; undefined if the catalogue has no number for it. */
  readonly code: string | undefined
  /** Identifies the request in the server's log. */
  readonly operationId: string | undefined
  /** The invalid body field or parameter. */
  readonly field: string | undefined

  constructor(
    message: string,
    facts: { status: number; code?: unknown; operationId?: unknown; field?: unknown },
  ) {
    super(message)
    this.status = facts.status
    this.code = textOf(facts.code)
    this.operationId = textOf(facts.operationId)
    this.field = textOf(facts.field)
  }
}

/** An invalid argument, such as an empty id; nothing was sent. */
export class ArgumentError extends TypeError {
  override readonly name = 'ArgumentError'
}

/**
 * No response: nothing listens, the connection was lost, or it timed out. Whether the request took effect is unknown.
 */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
