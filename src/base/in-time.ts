/** A process that takes longer for a response hangs. */
const ANSWER_MS = 2000

/** The result of work elsewhere; undefined if it fails or takes too long. */
export async function inTime<Result>(asked: Promise<Result>, ms = ANSWER_MS): Promise<Result | undefined> {
  const { promise: late, resolve: giveUp } = Promise.withResolvers<undefined>()
  // Not of node:timers/promises: the error with which it is aborted costs more than a query.
  const timer = setTimeout(giveUp, ms, undefined).unref()
  const answer = await Promise.race([asked.catch(() => undefined), late])
  clearTimeout(timer)
  return answer
}
