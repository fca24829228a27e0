/** The result of an attempt whose write was rejected because another one came first. */
export const CONFLICT = Symbol('conflict')

const ATTEMPTS = 8

/**
 * Runs a change that reads, decides and writes, again on fresh data after each conflict. `giveUp` decides when there was
 * one each time: it returns the result, or throws.
 */
export async function retryOnConflict<Result>(
  attempt: () => Promise<Result | typeof CONFLICT>,
  giveUp: () => Result,
  attempts = ATTEMPTS,
): Promise<Result> {
  for (let count = 0; count < attempts; count++) {
    const result = await attempt()
    if (result !== CONFLICT) return result
  }
  return giveUp()
}
