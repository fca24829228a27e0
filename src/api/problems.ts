import { Problem } from '#base/errors.ts'
import { StoreError, type StoreErrorCode } from '#store/store-error.ts'

const RETRY_SECONDS = 5

const storeProblems: Readonly<Record<StoreErrorCode, () => Problem>> = {
  full: () => new Problem('storage_full', {}),
  unavailable: () => new Problem('storage_unavailable', { retryAfter: RETRY_SECONDS }),
  uncertain: () => new Problem('storage_uncertain', { retryAfter: RETRY_SECONDS }),
  read_only: () => new Problem('storage_read_only', { retryAfter: RETRY_SECONDS }),
  locked: () => new Problem('storage_unavailable', { retryAfter: RETRY_SECONDS }),
  newer_schema: () => new Problem('internal', {}),
  unusable: () => new Problem('internal', {}),
}

/** The API error of any error; `internal` for unexpected ones. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  return error instanceof StoreError ? storeProblems[error.code]() : new Problem('internal', {})
}

/** The body of every error. Its code has the client's prefix, which clients compare. */
export function problemBody(problem: Problem, brand: 'ADIT' | 'NGROK', operationId: string): string {
  return JSON.stringify({
    ...(problem.number !== undefined && { error_code: `ERR_${brand}_${problem.number}` }),
    status_code: problem.status,
    msg: problem.message,
    details: { operation_id: operationId, ...(problem.field !== undefined && { field: problem.field }) },
  })
}
