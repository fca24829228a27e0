import { randomFillSync } from 'node:crypto'
import { TunnelError } from '#tunnel/frame.ts'
import type { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

export interface HeartbeatOptions {
  readonly intervalMs?: number
  /**
   * Silence of the peer on all streams after which the session is closed. Time in which this process was blocked or
   * suspended does not count: it has read nothing then.
   */
  readonly limitMs?: number
}

const BEAT_BYTES = 4
const NOTHING = Buffer.alloc(0)

/** Random bytes for the next beats of all sessions: each call of the generator costs as much as for hundreds of beats. */
const drawn = Buffer.alloc(1024)
let used = drawn.length

function newBeat(): Buffer {
  if (used === drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  const beat = Buffer.from(drawn.subarray(used, used + BEAT_BYTES))
  used += BEAT_BYTES
  return beat
}

/** Splits a stream into beats of 4 bytes, however they were fragmented. */
function beats(take: (beat: Buffer) => void): (bytes: Buffer) => void {
  let rest = NOTHING
  return bytes => {
    const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    let at = 0
    for (; at + BEAT_BYTES <= all.length; at += BEAT_BYTES) take(all.subarray(at, at + BEAT_BYTES))
    // A copy, because the rest must not retain a whole socket read.
    rest = at === all.length ? NOTHING : Buffer.from(all.subarray(at))
  }
}

/** Echoes the peer's beats, each in one frame. */
export function answerHeartbeat(stream: TunnelStream): void {
  stream.attach({
    data: beats(beat => {
      // A peer that does not read its echoes gets no further credit, so they cannot pile up.
      if (!stream.write(Buffer.from(beat))) stream.pause()
    }),
    writable: () => stream.resume(),
    // An agent that sees FIN on a heartbeat floods zeros; only RST stops it.
    end: () => stream.reset('stream_cancelled'),
    closed: () => undefined,
  })
}

class Heartbeat {
  readonly #session: MuxSession
  readonly #intervalMs: number
  readonly #limitMs: number
  #stream: TunnelStream | undefined
  #opening = false
  #sent: { readonly beat: Buffer; readonly at: number } | undefined
  readonly #begun = performance.now()
  #nextBeat = this.#begun
  /** When the next turn is due. */
  #due = this.#nextBeat
  /** How much of the silence this process was blocked. */
  #blockedMs = 0
  #silentSince = this.#nextBeat
  #latencyMs: number | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(session: MuxSession, { intervalMs = 5000, limitMs = 10_000 }: HeartbeatOptions = {}) {
    this.#session = session
    this.#intervalMs = intervalMs
    this.#limitMs = limitMs
    void session.closed.then(() => this.#stop())
    this.#turn()
  }

  /** Round trip of the last echoed beat; undefined before the first. */
  get latencyMs(): number | undefined {
    return this.#latencyMs
  }

  #turn(): void {
    const now = performance.now()
    const deadline = this.#deadline(now)
    if (now >= deadline) {
      const silent = `The peer was silent for ${this.#limitMs} ms.`
      // The cause distinguishes it from a close by the peer.
      this.#session.fail(new TunnelError('peer_eof', silent, new Error('No heartbeat was echoed.')))
      return
    }
    if (now >= this.#nextBeat) {
      this.#nextBeat = now + this.#intervalMs
      this.#beat(now)
    }
    this.#due = Math.min(this.#nextBeat, deadline)
    this.#timer = setTimeout(() => this.#turn(), Math.ceil(this.#due - now))
  }

  #deadline(now: number): number {
    // Before the first beat the peer may have had nothing to send, such as while it waited for a response.
    const silentSince = Math.max(this.#session.lastInput, this.#begun)
    if (silentSince !== this.#silentSince) this.#blockedMs = 0
    this.#silentSince = silentSince
    this.#blockedMs += Math.max(0, now - Math.max(this.#due, silentSince))
    return silentSince + this.#limitMs + this.#blockedMs
  }

  #beat(now: number): void {
    // At most one beat is in flight.
    if (this.#sent !== undefined || this.#opening) return
    if (this.#stream === undefined) {
      void this.#open()
      return
    }
    const beat = newBeat()
    this.#sent = { beat, at: now }
    this.#stream.write(beat)
  }

  async #open(): Promise<void> {
    this.#opening = true
    try {
      this.#stream = await this.#session.open(streamTypes.heartbeat)
    } catch {
      // The session is closed or full; the next turn retries, and silence is measured anyway.
      return
    } finally {
      this.#opening = false
    }
    const stream = this.#stream
    stream.attach({
      data: beats(beat => this.#echo(beat)),
      end: () => stream.reset('stream_cancelled'),
      closed: () => {
        this.#stream = undefined
        this.#sent = undefined
      },
    })
    this.#beat(performance.now())
  }

  #echo(beat: Buffer): void {
    if (this.#sent === undefined || !this.#sent.beat.equals(beat)) return
    this.#latencyMs = performance.now() - this.#sent.at
    this.#session.measured(this.#latencyMs)
    this.#sent = undefined
  }

  #stop(): void {
    clearTimeout(this.#timer)
  }
}

export type { Heartbeat }

/** Sends beats to the peer, measures the round trip, and closes the session when it is silent. */
export const startHeartbeat = (session: MuxSession, options?: HeartbeatOptions): Heartbeat =>
  new Heartbeat(session, options)
