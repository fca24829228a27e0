import type { Socket } from 'node:net'
import { readSocket, type SocketReads } from '../../src/tunnel/socket-reads.ts'

/** What a stream of the link leads to. */
export interface LinkEnd {
  /** Takes bytes of the link; false: the link has to wait for `Link.resume`. */
  write(bytes: Buffer): boolean
  end(): void
  pause(): void
  resume(): void
}

const HEADER_BYTES = 8
/** As Adit: the other half begins with these while this one still reads. */
const FIRST_PART = 24

/**
 * The connection between the two halves of a tunnel that does nothing but what one must. A frame is the id of a stream,
 * a length, and so many bytes; the end of a stream has none. Frames of a turn are one write, or two.
 */
export class Link {
  readonly #socket: Socket
  readonly #reads: SocketReads
  readonly #ends = new Map<number, LinkEnd>()
  readonly #unknown: (id: number) => void
  #frames: Buffer[] = []
  #isScheduled = false
  #hasBegun = false
  #partial: Buffer | undefined
  #id = 0
  #left = 0

  constructor(socket: Socket, unknown: (id: number) => void) {
    this.#socket = socket
    this.#unknown = unknown
    this.#reads = readSocket(socket, { data: bytes => this.#receive(bytes), end: () => socket.destroy() })
    socket.on('error', () => undefined)
    socket.on('drain', () => this.#ends.forEach(end => end.resume()))
  }

  add(id: number, end: LinkEnd): void {
    this.#ends.set(id, end)
  }

  join(id: number, socket: Socket): void {
    const reads = readSocket(socket, {
      data: bytes => this.send(id, bytes),
      end: () => this.send(id, Buffer.alloc(0)),
    })
    this.add(id, {
      write: bytes => socket.write(bytes),
      end: () => void socket.end(),
      pause: () => reads.pause(),
      resume: () => reads.resume(),
    })
    socket.on('error', () => undefined)
    socket.on('drain', () => this.resume())
    socket.on('close', () => {
      this.#ends.delete(id)
      this.resume()
    })
  }

  send(id: number, bytes: Buffer): void {
    if (!this.#isScheduled) setImmediate(() => this.#turnEnds())
    this.#isScheduled = true
    const header = Buffer.allocUnsafe(HEADER_BYTES)
    header.writeUInt32BE(id, 0)
    header.writeUInt32BE(bytes.length, 4)
    this.#frames.push(header, bytes)
    if (this.#hasBegun || this.#frames.length < 2 * FIRST_PART) return
    this.#hasBegun = true
    this.#flush()
  }

  resume(): void {
    this.#reads.resume()
  }

  #turnEnds(): void {
    this.#isScheduled = false
    this.#hasBegun = false
    if (this.#frames.length > 0) this.#flush()
  }

  #flush(): void {
    this.#socket.cork()
    for (const bytes of this.#frames) this.#socket.write(bytes)
    this.#socket.uncork()
    this.#frames = []
    if (this.#socket.writableNeedDrain) this.#ends.forEach(end => end.pause())
  }

  #receive(bytes: Buffer): void {
    let rest = this.#partial === undefined ? bytes : Buffer.concat([this.#partial, bytes])
    this.#partial = undefined
    while (rest.length > 0) {
      if (this.#left === 0) {
        if (rest.length < HEADER_BYTES) {
          this.#partial = rest
          return
        }
        this.#id = rest.readUInt32BE(0)
        this.#left = rest.readUInt32BE(4)
        rest = rest.subarray(HEADER_BYTES)
        if (!this.#ends.has(this.#id) && this.#left > 0) this.#unknown(this.#id)
        if (this.#left === 0) this.#ends.get(this.#id)?.end()
      }
      const piece = rest.subarray(0, this.#left)
      rest = rest.subarray(piece.length)
      this.#left -= piece.length
      if (piece.length > 0 && this.#ends.get(this.#id)?.write(piece) === false) this.#reads.pause()
    }
  }
}
