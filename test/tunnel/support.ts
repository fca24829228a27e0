import { type Duplex, duplexPair } from 'node:stream'
import type { MuxSessionOptions } from '#tunnel/mux-session-options.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import type { Sink } from '#tunnel/byte-stream.ts'
import type { TunnelStream } from '#tunnel/stream.ts'
import { until } from '../support/until.ts'

export interface Frame {
  readonly kind: number
  readonly id: number
  readonly body: Buffer
}

export const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

/** A frame written out by hand: `kind` is the fourth byte of the header, type and flags. */
export function frame(kind: number, id: number, body: Uint8Array | string = ''): Buffer {
  const bytes = Buffer.from(body as string)
  const header = Buffer.alloc(8)
  header.writeUIntBE(bytes.length, 0, 3)
  header.writeUInt8(kind, 3)
  header.writeUInt32BE(id, 4)
  return Buffer.concat([header, bytes])
}

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const UNUSED_ID = 0x7fff_fff0

/** The other end of a connection: sends frames written by hand and uses none of the tested code. */
export class Peer {
  readonly socket: Duplex
  readonly frames: Frame[] = []
  received = Buffer.alloc(0)
  #parsed = 0
  #seen = 0
  #wake: (() => void) | undefined

  constructor(socket: Duplex) {
    this.socket = socket
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('end', () => socket.end())
  }

  send(...parts: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(parts))
  }

  /** The next unread frame that fits. */
  next(fits: (frame: Frame) => boolean = () => true): Promise<Frame> {
    const look = () => {
      for (; this.#seen < this.frames.length;) {
        const found = this.frames[this.#seen++]
        if (found !== undefined && fits(found)) return found
      }
      return undefined
    }
    return until(look, { what: `frame: ${String(fits)}`, next: () => this.#change() })
  }

  /**
   * Waits until all frames sent so far are handled: DATA for an unknown stream is always answered with RST, in order.
   */
  async settle(id = UNUSED_ID): Promise<void> {
    const before = this.frames.length
    this.send(frame(0x10, id, 'x'))
    const isAnswered = () => this.frames.slice(before).some(({ kind, id: of }) => kind === 0x00 && of === id)
    await until(isAnswered, { next: () => this.#change() })
  }

  /** Frames of one stream, as `kind:bytes`. */
  framesOf(id: number): string[] {
    return this.frames
      .filter(({ id: of }) => of === id)
      .map(({ kind, body }) => `${kind.toString(16)}:${body.toString('hex')}`)
  }

  #change(): Promise<void> {
    return new Promise(resolve => (this.#wake = resolve))
  }

  #take(chunk: Buffer): void {
    this.received = Buffer.concat([this.received, chunk])
    for (;;) {
      const rest = this.received.subarray(this.#parsed)
      if (rest.length < 8 || rest.length < 8 + rest.readUIntBE(0, 3)) break
      const end = 8 + rest.readUIntBE(0, 3)
      this.frames.push({
        kind: rest.readUInt8(3),
        id: rest.readUInt32BE(4),
        body: rest.subarray(8, end),
      })
      this.#parsed += end
    }
    this.#wake?.()
  }
}

/** A session, and a peer that sends frames written by hand. */
export function sessionWithPeer(options: MuxSessionOptions): { session: MuxSession; peer: Peer } {
  const [near, far] = duplexPair()
  return { session: new MuxSession(near, options), peer: new Peer(far) }
}

/** Two connected sessions, gateway and agent. */
export function sessionPair(
  server: Omit<MuxSessionOptions, 'role'> = {},
  client: Omit<MuxSessionOptions, 'role'> = {},
): { gateway: MuxSession; agent: MuxSession } {
  const [near, far] = duplexPair()
  return {
    gateway: new MuxSession(near, { role: 'server', ...server }),
    agent: new MuxSession(far, { role: 'client', ...client }),
  }
}

/** A sink that records everything. */
export class RecordingSink implements Sink {
  readonly pieces: Buffer[] = []
  ended = false
  readonly whenClosed: Promise<Error | undefined>
  readonly whenEnded: Promise<void>
  readonly closed: (error: Error | undefined) => void
  readonly #tellEnded: () => void

  constructor() {
    const closing = Promise.withResolvers<Error | undefined>()
    const ending = Promise.withResolvers<void>()
    this.whenClosed = closing.promise
    this.closed = closing.resolve
    this.whenEnded = ending.promise
    this.#tellEnded = ending.resolve
  }

  get text(): string {
    return Buffer.concat(this.pieces).toString()
  }

  get size(): number {
    return this.pieces.reduce((sum, { length }) => sum + length, 0)
  }

  data(bytes: Buffer): void {
    this.pieces.push(Buffer.from(bytes))
  }

  end(): void {
    this.ended = true
    this.#tellEnded()
  }
}

export function recordStream(stream: TunnelStream): RecordingSink {
  const sink = new RecordingSink()
  stream.attach(sink)
  return sink
}
