import { setTimeout as wait } from 'node:timers/promises'

/** A process that takes longer for a response hangs. */
const ANSWER_MS = 2000

/** The result of work elsewhere; undefined if it fails or takes too long. */
export async function inTime<Result>(asked: Promise<Result>, ms = ANSWER_MS): Promise<Result | undefined> {
  const done = new AbortController()
  const late = wait(ms, undefined, { ref: false, signal: done.signal }).catch(() => undefined)
  const answer = await Promise.race([asked.catch(() => undefined), late])
  done.abort()
  return answer
}
