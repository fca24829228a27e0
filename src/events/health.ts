import type { Health } from '#events/cursor.ts'

const later = (one: string | null, other: string | null): string | null =>
  (one ?? '') > (other ?? '') ? one : other

/** Merges the health of one destination from two servers: the latest observation wins. */
export function mergedHealth(one: Health, other: Health): Health {
  const success = later(one.last_success_at, other.last_success_at)
  const failed = (one.last_error_at ?? '') > (other.last_error_at ?? '') ? one : other
  // Times are whole seconds, so a success within the second of the failure may have been before it.
  const isFailing = failed.failing_since !== null && (failed.last_error_at ?? '') >= (success ?? '')
  return {
    failing_since: isFailing ? failed.failing_since : null,
    last_success_at: success,
    last_error: failed.last_error,
    last_error_at: failed.last_error_at,
    next_try_at: isFailing ? failed.next_try_at : null,
  }
}
