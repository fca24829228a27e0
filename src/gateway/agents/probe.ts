import { randomBytes } from 'node:crypto'
import type { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'

const BEAT_BYTES = 4
const ANSWER_MS = 1500
const POLL_MS = 20

/** Probes an agent: any bytes after a heartbeat count. */
export async function probe(session: MuxSession, answerMs = ANSWER_MS): Promise<boolean> {
  const begun = performance.now()
  const signal = AbortSignal.timeout(answerMs)
  try {
    const stream = await session.open(streamTypes.heartbeat, undefined, { signal })
    stream.write(randomBytes(BEAT_BYTES))
    while (!signal.aborted && !stream.closed && session.lastInput <= begun)
      await new Promise(resolve => setTimeout(resolve, POLL_MS))
    // Some agents flood zeros when a heartbeat is finished; only RST stops it.
    stream.reset('stream_cancelled')
    return session.lastInput > begun
  } catch {
    // The session is closed, or too busy to probe.
    return false
  }
}
