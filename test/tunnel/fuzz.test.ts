import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { answerHeartbeat } from '#tunnel/heartbeat.ts'
import { authRequest } from '#tunnel/messages.ts'
import { serve } from '#tunnel/rpc.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'
import { duplexPair } from 'node:stream'
import { frame, uint32 } from './support.ts'

const FRAMES = process.env['TEST_LONG'] === '1' ? 1_000_000 : 100_000
const FRAMES_PER_SESSION = 200
const MIB = 1_048_576

/** Numbers that look random and are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const kinds = [0x10, 0x11, 0x12, 0x13, 0x12, 0x10, 0x00, 0x20, 0x12, 0x10]
const types = [...Object.values(streamTypes), 77]
const bodies = ['{"ClientId":"x"}', '{"', '}', '[[[[', '"\\', '\0'.repeat(300), 'x'.repeat(9000), '']

/** A frame that is mostly well-formed, so that it gets past the header. */
function plausible(random: (below: number) => number): Buffer {
  const kind = kinds[random(kinds.length)] ?? 0
  const id = random(20) === 0 ? random(2 ** 31) : 1 + random(400)
  if (kind === 0x00 || kind === 0x20)
    return frame(kind, id, uint32(random(3) === 0 ? random(2 ** 31) : random(20)))
  const body = Buffer.from(bodies[random(bodies.length)] ?? '')
  // SYN with an odd id, as an agent sends it, or almost every session would end at once.
  if ((kind & 2) === 2)
    return frame(kind, id | 1, Buffer.concat([uint32(types[random(types.length)] ?? 0), body]))
  return frame(kind, id, body)
}

function mutated(bytes: Buffer, random: (below: number) => number): Buffer {
  const result = Buffer.from(bytes)
  // Mostly in the body: a broken header soon ends the session, and then nothing else is tried.
  const from = random(8) === 0 ? 0 : Math.min(8, result.length - 1)
  for (let count = 1 + random(3); count > 0; count--)
    result[from + random(result.length - from)] = random(256)
  return random(40) === 0 ? result.subarray(0, random(result.length)) : result
}

function serveAll(type: number, stream: TunnelStream): void {
  if (type === streamTypes.heartbeat) answerHeartbeat(stream)
  else if (type === streamTypes.auth)
    serve(stream, { request: authRequest, handle: async () => ({ ClientId: 'x' }) }).catch(() => undefined)
  else if (type === streamTypes.proxy) stream.pause()
  else
    stream.attach({
      data: bytes => void stream.write(Buffer.from(bytes)),
      end: () => stream.end(),
      closed: () => undefined,
    })
}

/** One session that is fed broken frames until it has had its share or has ended. Answers how many it read, and which. */
async function attack(random: (below: number) => number): Promise<{ frames: number; ended: boolean }> {
  const [near, far] = duplexPair()
  const session = new MuxSession(near, { role: 'server', accept: serveAll, memoryLimit: MIB })
  let ended = false
  void session.closed.then(() => (ended = true))
  far.on('error', () => undefined)
  far.resume()
  session.ackImmediately = random(2) === 0
  const own = await session.open(streamTypes.proxy)
  own.write(Buffer.alloc(1000))
  let frames = 0
  for (; frames < FRAMES_PER_SESSION && !ended; frames++) {
    const bytes = mutated(plausible(random), random)
    const cut = random(bytes.length)
    far.write(bytes.subarray(0, cut))
    far.write(bytes.subarray(cut))
    await new Promise(setImmediate)
    assert.ok(session.unread <= MIB + session.streams * 262_144)
  }
  const result = { frames, ended }
  session.close()
  far.destroy()
  assert.deepEqual([session.streams, session.unread], [0, 0])
  return result
}

suite('a session fed broken frames', () => {
  test(`survives ${FRAMES} of them or ends alone, without a fault and without keeping memory`, async () => {
    const faults: unknown[] = []
    const note = (fault: unknown): void => void faults.push(fault)
    process.on('uncaughtException', note).on('unhandledRejection', note)
    const random = numbers(20_261_115)
    const sessions = { ended: 0, survived: 0 }
    let memory: number | undefined
    for (let frames = 0; frames < FRAMES;) {
      const result = await attack(random)
      frames += result.frames
      sessions[result.ended ? 'ended' : 'survived']++
      // The first tenth fills pools and compiles code; growth counts from there.
      if (frames > FRAMES / 10) memory ??= process.memoryUsage().rss
    }
    process.off('uncaughtException', note).off('unhandledRejection', note)
    assert.deepEqual(faults, [])
    assert.ok(sessions.ended > 100 && sessions.survived > 100, JSON.stringify(sessions))
    const growth = process.memoryUsage().rss - (memory ?? 0)
    assert.ok(growth < 150 * MIB, `memory grew by ${Math.round(growth / MIB)} MiB`)
  })
})
