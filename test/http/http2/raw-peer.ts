import type { Socket } from 'node:net'
import type { Gateway } from './support.ts'
import { until } from '../../support/until.ts'

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const

export const END_STREAM = 1
export const END_HEADERS = 4
export const ACK = 1

/** One frame of HTTP/2, written out by hand. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A whole number in HPACK, behind the bits of a representation. */
function integer(value: number, prefix: number, bits: number): Buffer {
  const limit = 2 ** prefix - 1
  if (value < limit) return Buffer.from([bits | value])
  const bytes = [bits | limit]
  let rest = value - limit
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

const literal = (text: string): Buffer => {
  const bytes = Buffer.from(text, 'latin1')
  return Buffer.concat([integer(bytes.length, 7, 0), bytes])
}

/** A block of pairs that uses neither table nor code words, so that any bytes can be sent. */
export const literalBlock = (pairs: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat(pairs.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]))

/** A pair that is put into the table of the reader, and one that refers to its newest entry. */
export const indexed = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0x40]), literal(name), literal(value)])
export const reference = Buffer.from([0x80 | 62])

const MAX_FRAME = 16_384

/** A HEADERS frame, with CONTINUATION frames when one does not suffice. */
export function headers(
  stream: number,
  pairs: readonly (readonly [string, string])[],
  { endStream }: { readonly endStream: boolean },
): Buffer {
  const bytes = literalBlock(pairs)
  const frames: Buffer[] = []
  for (let at = 0; at === 0 || at < bytes.length; at += MAX_FRAME) {
    const last = at + MAX_FRAME >= bytes.length ? END_HEADERS : 0
    const flags = last | (at === 0 && endStream ? END_STREAM : 0)
    frames.push(
      frame(at === 0 ? FRAME.headers : FRAME.continuation, flags, stream, bytes.subarray(at, at + MAX_FRAME)),
    )
  }
  return Buffer.concat(frames)
}

interface Seen {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** A peer that writes its frames by hand. */
export class RawPeer {
  readonly socket: Socket
  readonly frames: Seen[] = []
  readonly gone: Promise<void>
  /** Told of every frame as it comes. */
  onFrame: ((seen: Seen) => void) | undefined
  #rest = Buffer.alloc(0)
  #prefaceLeft: number
  #wake: (() => void) | undefined
  #over = false

  private constructor(socket: Socket, isServer: boolean) {
    this.socket = socket
    this.#prefaceLeft = isServer ? PREFACE.length : 0
    socket.setNoDelay()
    socket.on('data', (bytes: Buffer) => this.#take(bytes))
    this.gone = new Promise(resolve =>
      socket.once('close', () => {
        this.#over = true
        this.#wake?.()
        resolve()
      }),
    )
    socket.on('end', () => socket.destroy())
  }

  /** A server, whose settings are not sent yet. */
  static accept(socket: Socket): RawPeer {
    return new RawPeer(socket, true)
  }

  /** A client whose settings are agreed on. */
  static async open(host: Pick<Gateway, 'raw'>): Promise<RawPeer> {
    const wire = new RawPeer(await host.raw(), false)
    wire.send(PREFACE, frame(FRAME.settings, 0, 0))
    await wire.find(({ type, flags }) => type === FRAME.settings && flags === 0)
    wire.send(frame(FRAME.settings, ACK, 0))
    return wire
  }

  /** False when the socket takes no more for now, or is gone. */
  send(...parts: readonly Buffer[]): boolean {
    return this.#over ? false : this.socket.write(Buffer.concat(parts))
  }

  /** The first frame that fits, past or to come; undefined when the connection ends without it. */
  find(fits: (seen: Seen) => boolean): Promise<Seen | undefined> {
    return until(() => this.frames.find(fits), {
      what: `frame: ${String(fits)}`,
      fits: found => found !== undefined || this.#over,
      next: () => new Promise<void>(resolve => (this.#wake = resolve)),
    })
  }

  /** What became of a request: its status, or that it was reset, alone or with its connection. */
  async outcome(stream: number): Promise<number | 'reset'> {
    const found = await this.find(
      ({ type, stream: of }) =>
        (of === stream && (type === FRAME.reset || type === FRAME.headers)) || type === FRAME.goaway,
    )
    return found?.type === FRAME.headers ? statusOf(found.payload) : 'reset'
  }

  #take(bytes: Buffer): void {
    const skipped = Math.min(this.#prefaceLeft, bytes.length)
    this.#prefaceLeft -= skipped
    this.#rest = Buffer.concat([this.#rest, bytes.subarray(skipped)])
    while (this.#rest.length >= 9) {
      const size = 9 + this.#rest.readUIntBE(0, 3)
      if (this.#rest.length < size) break
      const stream = this.#rest.readUInt32BE(5) & 0x7fff_ffff
      const [type, flags] = [this.#rest.readUInt8(3), this.#rest.readUInt8(4)]
      const seen = { type, flags, stream, payload: Buffer.from(this.#rest.subarray(9, size)) }
      this.frames.push(seen)
      this.onFrame?.(seen)
      this.#rest = this.#rest.subarray(size)
    }
    this.#wake?.()
  }
}

const known = new Map([0, 200, 204, 206, 304, 400, 404, 500].map((status, at) => [0x80 | (at + 7), status]))

/** The status in front of a block of an answer, if it is one of the fixed table. */
const statusOf = (payload: Buffer): number => known.get(payload.readUInt8(0)) ?? -1
