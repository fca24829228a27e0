import { randomBytes } from 'node:crypto'
import type { Session } from '#tunnel/session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'

const BEAT_BYTES = 4
const ANSWER_MS = 1500
const POLL_MS = 20

/** Asks an agent for a sign of life: any bytes after a beat was sent will do. */
export async function probe(session: Session, answerMs = ANSWER_MS): Promise<boolean> {
  const begun = performance.now()
  const signal = AbortSignal.timeout(answerMs)
  try {
    const stream = await session.open(streamTypes.heartbeat, undefined, { signal })
    stream.write(randomBytes(BEAT_BYTES))
    while (!signal.aborted && !stream.closed && session.lastInput <= begun)
      await new Promise(resolve => setTimeout(resolve, POLL_MS))
    // Some agents flood zeros when a heartbeat is finished; only RST ends it.
    stream.reset('stream_cancelled')
    return session.lastInput > begun
  } catch {
    // The session is over, or so full that nothing can be asked.
    return false
  }
}
