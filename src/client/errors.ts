/** The API refused a call; the message is the server's own. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** Such as `ERR_ADIT_413`; undefined where the catalogue has no number for it. */
  readonly code: string | undefined
  /** Names the call in the server's log. */
  readonly operationId: string | undefined
  /** The field of the body, or the parameter, that is wrong. */
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

/** An argument that cannot be one, such as an empty id; nothing was sent. */
export class ArgumentError extends TypeError {
  override readonly name = 'ArgumentError'
}

/** No answer came: nobody listens, the connection broke, or the time was up. Whether it was done is unknown. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
