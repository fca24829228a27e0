import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { asDuplex } from '#tunnel/duplex.ts'
import type { MuxSession } from '#tunnel/mux-session.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

/** Accepts streams and resolves each pending `next` in order. */
export function streamQueue(): {
  accept: (type: number, stream: TunnelStream) => void
  next: () => Promise<TunnelStream>
} {
  const waiting: ((stream: TunnelStream) => void)[] = []
  const arrived: TunnelStream[] = []
  return {
    accept: (_, stream) => {
      const taker = waiting.shift()
      if (taker === undefined) arrived.push(stream)
      else taker(stream)
    },
    next: async () => arrived.shift() ?? new Promise(resolve => waiting.push(resolve)),
  }
}

/** Sends `size` random bytes both ways over each of `count` streams and compares what arrives. */
export async function transferBothWays(
  gateway: MuxSession,
  next: () => Promise<TunnelStream>,
  [count, size]: [number, number],
): Promise<void> {
  const hashOf = async (duplex: Duplex): Promise<string> => {
    const hash = createHash('sha256')
    await pipeline(duplex, hash)
    return hash.digest('hex')
  }
  const one = async (): Promise<void> => {
    const near = asDuplex(await gateway.open(3))
    const far = asDuplex(await next())
    const bytes = randomBytes(size)
    const back = randomBytes(size)
    near.end(bytes)
    far.end(back)
    assert.deepEqual(await Promise.all([hashOf(far), hashOf(near)]), [
      createHash('sha256').update(bytes).digest('hex'),
      createHash('sha256').update(back).digest('hex'),
    ])
  }
  await Promise.all(Array.from({ length: count }, one))
}
