import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { ReadBuffer, release, ownedCopy } from '#tunnel/buffer-pool.ts'

/** The reader of a socket. */
interface SocketReader {
  /** Owned bytes, valid as long as they are held; `release` and `writeOwned` release their memory. */
  data(bytes: Buffer): void
  /** The peer has half-closed; comes after all bytes. */
  end(): void
}

/** Pausable reading: after `pause` nothing is delivered, not even the end, until `resume`. */
export interface SocketReads {
  pause(): void
  resume(): void
}

/** Parses the first `length` bytes before the call returns; afterwards they change, unless they are owned. */
export interface BorrowedReader {
  onRead(bytes: Buffer, length: number, owned: boolean): void
  end(): void
}

// One buffer for the reads of all sockets: they are read one at a time, and data is used or copied at once.
const scratch = Buffer.allocUnsafeSlow(131_072)
// Node decrypts one TLS record at a time. A full one is seldom the last, and large chunks cost less further on.
const FULL_RECORD = 16_384
// The engine begins with a buffer of 1 KiB for what it reads. Once that is full it has another one, of 16 KiB, for the
// life of the connection: an idle one needs none.
const FED_BYTES = 1000

// What node's `onread` option sets on a socket. That option is for outgoing plain sockets only, so its members are set
// from here; without them every read allocates 64 KiB, which costs more than all else for bulk data.
type Opened = Duplex &
  Record<symbol, unknown> & {
    readonly _handle?: { useUserBuffer?(buffer: Buffer): void } | null
    /** A TLS socket still in its handshake. */
    readonly secureConnecting?: boolean
    readonly connecting?: boolean
  }

function findInternals(): { readonly buffer: symbol; readonly callback: symbol } | undefined {
  const socket = new Socket()
  const secured = new TLSSocket(socket, { isServer: true })
  const byName = new Map(Object.getOwnPropertySymbols(socket).map(symbol => [symbol.description, symbol]))
  const canFeed = typeof engineOf(secured)?.receive === 'function'
  secured.destroy()
  socket.destroy()
  const buffer = byName.get('kBuffer')
  const callback = byName.get('kBufferCb')
  return buffer === undefined || callback === undefined || !canFeed ? undefined : { buffer, callback }
}

interface Engine {
  receive?(bytes: Buffer): void
}

function engineOf(secured: TLSSocket): Engine | undefined {
  const { _handle: engine } = secured as unknown as { readonly _handle?: Engine | null }
  return engine ?? undefined
}

/**
 * Makes a socket read into the shared buffer; a read that returns false is the last until `resume`. False: not
 * possible.
 */
function readIntoScratch(socket: Opened, read: (count: number) => boolean): boolean {
  const { _handle: handle } = socket
  if (plain || internals === undefined || typeof handle?.useUserBuffer !== 'function') return false
  socket[internals.buffer] = scratch
  socket[internals.callback] = read
  handle.useUserBuffer(scratch)
  return true
}

const internals = findInternals()
let plain = false

/** Reads sockets by `data` events from now on, for a node with other internals. */
export function usePlainReads(yes: boolean): void {
  plain = yes
}

/**
 * Reads a socket without an allocation for each read. Supports accepted and outgoing sockets, also before they are
 * connected, and TLS sockets, also before their handshake; other streams are read by `data` events. From here on
 * nothing else may read or pause the socket. Errors and the close stay its own events; after `destroy` nothing comes.
 */
export function readSocket(socket: Duplex, reader: SocketReader): SocketReads {
  const passing: BorrowedReader = {
    onRead: (bytes, length, lasting) =>
      reader.data(lasting ? bytes.subarray(0, length) : ownedCopy(bytes, 0, length)),
    end: () => reader.end(),
  }
  return new Reads(socket, passing, true)
}

/** Like `readSocket`, without the copy that makes bytes owned. */
export function readBorrowed(socket: Duplex, reader: BorrowedReader): SocketReads {
  return new Reads(socket, reader, false)
}

/**
 * Reads a just accepted socket until `take` has enough; it is then paused, and free for any other reader. Without one,
 * further data is dropped.
 */
export function readFirst(socket: Socket, take: (bytes: Buffer) => boolean): void {
  let isEnough = false
  const isFast = readIntoScratch(socket as unknown as Opened, count => {
    if (isEnough) return true
    isEnough = take(Buffer.from(scratch.subarray(0, count)))
    return !isEnough
  })
  if (isFast) {
    // Another reader may have left some bytes.
    const early = socket.read() as Buffer | null
    if (early !== null) isEnough = take(early)
    if (!isEnough) socket.read(0)
    return
  }
  const taking = (bytes: Buffer): void => {
    if (take(bytes)) socket.off('data', taking).pause()
  }
  socket.on('data', taking).resume()
}

/**
 * Starts TLS on a socket of which `first` was read before. The engine gets those bytes and reads from the system's
 * socket itself from then on, as if nothing had been read.
 */
export function secureAfter(socket: Socket, first: Buffer, secure: () => TLSSocket): void {
  const isFast = !plain && internals !== undefined
  // The documented way, which costs a tenth of the time of a handshake.
  if (!isFast) socket.unshift(first)
  const secured = secure()
  if (!isFast) return
  for (let at = 0; at < first.length; at += FED_BYTES)
    engineOf(secured)?.receive?.(first.subarray(at, at + FED_BYTES))
}

class Reads implements SocketReads {
  readonly #socket: Opened
  readonly #reader: BorrowedReader
  // Whether joined records are owned by the reader, which then need not copy them.
  readonly #keeps: boolean
  readonly #encrypted: boolean
  readonly #joined = new ReadBuffer()
  readonly #turnEnds = (): void => {
    this.#scheduled = false
    this.#flush()
  }
  // Data from before the start or after `pause`: node decrypts all it has read, even when paused.
  #held: Buffer[] = []
  #scheduled = false
  #paused = false
  #ended = false
  #endReported = false

  constructor(socket: Duplex, reader: BorrowedReader, keeps: boolean) {
    this.#socket = socket as Opened
    this.#reader = reader
    this.#keeps = keeps
    this.#encrypted = socket instanceof TLSSocket
    if (socket.readableEnded) process.nextTick(() => this.#end())
    else socket.once('end', () => this.#end())
    if (this.#encrypted && this.#socket.secureConnecting === true) socket.once('secure', () => this.#start())
    else if (!this.#encrypted && this.#socket.connecting === true) socket.once('connect', () => this.#start())
    else this.#start()
  }

  pause(): void {
    this.#paused = true
    this.#socket.pause()
    if (this.#joined.length > 0) this.#held.push(this.#joined.take())
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#flush()
    if (!this.#paused) this.#socket.resume()
  }

  get #stopped(): boolean {
    // An ended socket destroys itself, perhaps before a paused reader has got the last bytes.
    return this.#paused || (this.#socket.destroyed && !this.#ended)
  }

  #start(): void {
    const socket = this.#socket
    if (socket.destroyed) return
    const isFast = readIntoScratch(socket, count => {
      this.#read(count)
      return true
    })
    if (isFast) this.#takeEarly()
    else socket.on('data', (chunk: Buffer) => this.#reader.onRead(chunk, chunk.length, true))
    if (this.#paused) socket.pause()
    else socket.resume()
  }

  /** Data from before this reader. It is delivered after the caller has the result of `readSocket`. */
  #takeEarly(): void {
    for (;;) {
      const early = this.#socket.read() as Buffer | null
      if (early === null) break
      this.#held.push(early)
    }
    if (this.#held.length > 0) process.nextTick(() => this.#flush())
  }

  #read(count: number): void {
    if (this.#paused || this.#held.length > 0) this.#held.push(ownedCopy(scratch, 0, count))
    else if (this.#encrypted && (count === FULL_RECORD || this.#joined.length > 0)) this.#gather(count)
    else this.#reader.onRead(scratch, count, false)
  }

  #gather(count: number): void {
    this.#joined.add(scratch, 0, count)
    if (count < FULL_RECORD || this.#joined.room < FULL_RECORD) {
      this.#flush()
    } else if (!this.#scheduled) {
      this.#scheduled = true
      setImmediate(this.#turnEnds)
    }
  }

  #end(): void {
    this.#ended = true
    this.#flush()
  }

  /** Delivers buffered data, and the end after it. */
  #flush(): void {
    while (!this.#stopped) {
      const bytes = this.#held.shift()
      if (bytes === undefined) break
      this.#reader.onRead(bytes, bytes.length, true)
    }
    if (this.#stopped) return
    if (this.#joined.length > 0) this.#passJoined()
    if (!this.#ended || this.#endReported || this.#stopped) return
    this.#endReported = true
    this.#reader.end()
  }

  #passJoined(): void {
    const bytes = this.#joined.take()
    this.#reader.onRead(bytes, bytes.length, this.#keeps)
    if (!this.#keeps) release(bytes)
  }
}
