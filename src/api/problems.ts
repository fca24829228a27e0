import { Problem } from '#base/errors.ts'
import { StoreError, type StoreErrorCode } from '#store/store-error.ts'

const RETRY_SECONDS = 5

const storeProblems: Readonly<Record<StoreErrorCode, () => Problem>> = {
  full: () => new Problem('storage_full', {}),
  unavailable: () => new Problem('storage_unavailable', { retryAfter: RETRY_SECONDS }),
  locked: () => new Problem('storage_unavailable', { retryAfter: RETRY_SECONDS }),
  newer_schema: () => new Problem('internal', {}),
  unusable: () => new Problem('internal', {}),
}

/** What the framework refuses before we see the call, by its own codes. */
function frameworkProblem(error: { code?: unknown; message?: unknown }, limit: number): Problem | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', { limit })
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('content_type', { value: '' })
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('body_unreadable', { reason: 'its length is not the one announced' })
    case 'FST_ERR_BAD_URL':
      return new Problem('bad_request', {
        reason: 'the path has a % that is not followed by two hexadecimal digits',
      })
    case 'ECONNRESET':
      return new Problem('body_unreadable', { reason: 'the connection ended before it' })
    default:
      return undefined
  }
}

/** The refusal that an error means to the caller; `internal` for what nobody foresaw. */
export function problemOf(error: unknown, bodyLimit: number): Problem {
  if (error instanceof Problem) return error
  if (error instanceof StoreError) return storeProblems[error.code]()
  const known = typeof error === 'object' && error !== null ? frameworkProblem(error, bodyLimit) : undefined
  return known ?? new Problem('internal', {})
}

/** The body of every refusal. Its text carries the caller's name for the service, which clients compare. */
export function problemBody(problem: Problem, brand: 'ADIT' | 'NGROK', operationId: string): string {
  return JSON.stringify({
    ...(problem.number !== undefined && { error_code: `ERR_${brand}_${problem.number}` }),
    status_code: problem.status,
    msg: problem.message,
    details: { operation_id: operationId, ...(problem.field !== undefined && { field: problem.field }) },
  })
}
