import type { RequestHead } from '#http/head.ts'

const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** Whether a request may reach a service twice (RFC 9110 §9.2.2). */
export const isIdempotent = ({ method }: RequestHead): boolean => idempotentMethods.has(method)

/** Whether a request has no body, so that there is nothing to replay. */
const isWithoutContent = ({ framing }: RequestHead): boolean =>
  framing.kind === 'none' || (framing.kind === 'length' && framing.length === 0)

/** What is known about an attempt that failed. */
export interface FailedAttempt {
  /** A service may have received some of the request. */
  readonly isSent: boolean
  /** Some of the request body was read for this attempt, so it cannot be replayed. */
  readonly isBodyRead: boolean
  /** Some of a response has arrived. */
  readonly hasResponse: boolean
  /** Whether the request may reach a service a second time, if its method allows that. */
  readonly mayResend: boolean
  readonly attemptsLeft: number
}

/** Whether a request can be sent again. Everything that retries requests decides it here. */
export function canRetry(head: RequestHead, failed: FailedAttempt): boolean {
  if (failed.attemptsLeft <= 0 || failed.hasResponse) return false
  if (failed.isBodyRead && !isWithoutContent(head)) return false
  return !failed.isSent || (failed.mayResend && isIdempotent(head))
}
