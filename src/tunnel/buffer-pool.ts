import { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/** Copies up to this size are slices of shared blocks; a larger one gets its own slab, which can be reused. */
export const SMALL_BYTES = 4096
/** Up to this size, data that waits for a slow reader must not retain more than itself. */
const ALONE_BYTES = 16_384
const BLOCK_BYTES = 65_536
const SLAB_SIZES = [16_384, 32_768, 65_536, 131_072] as const
const LARGEST_SLAB = 131_072
// Pooled slabs of each size. More exist only under load, and are then left to the garbage collector.
const KEPT_SLABS = 64

interface Slab {
  readonly memory: Buffer
  readonly free: Slab[]
  /** Bytes handed out and not released. */
  used: number
}

const pools = SLAB_SIZES.map(size => ({ size, free: [] as Slab[] }))
const slabs = new WeakMap<ArrayBufferLike, Slab>()
let block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
let blockUsed = 0

function takeSlab(bytes: number): Slab | undefined {
  for (const { size, free } of pools) {
    if (size < bytes) continue
    const kept = free.pop()
    if (kept !== undefined) return kept
    const slab = { memory: Buffer.allocUnsafeSlow(size), free, used: 0 }
    slabs.set(slab.memory.buffer, slab)
    return slab
  }
  return undefined
}

/** A copy of `source` from `from` to `to` that stays valid as long as it is held. */
export function ownedCopy(source: Buffer, from: number, to: number): Buffer {
  const length = to - from
  if (length <= SMALL_BYTES) return sharedCopy(source, from, to)
  const slab = takeSlab(length)
  if (slab === undefined) return Buffer.from(source.subarray(from, to))
  slab.used = length
  source.copy(slab.memory, 0, from, to)
  return slab.memory.subarray(0, length)
}

/** The same in a shared block, for at most 16 KiB of which parts have different owners. */
export function sharedCopy(source: Buffer, from: number, to: number): Buffer {
  const length = to - from
  if (blockUsed + length > BLOCK_BYTES) {
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    blockUsed = 0
  }
  const start = blockUsed
  blockUsed += length
  source.copy(block, start, from, to)
  return block.subarray(start, blockUsed)
}

/**
 * Releases bytes, or so many of them, so that large reads need no new memory. Omitting this is always safe; calling it
 * twice, or for bytes that others may have kept, is not. Parts of a read may be released one by one, and bytes that no
 * read has brought are ignored.
 */
export function release(bytes: Buffer, count = bytes.length): void {
  if (count === 0) return
  const slab = slabs.get(bytes.buffer)
  if (slab === undefined) return
  slab.used -= count
  if (slab.used === 0 && slab.free.length < KEPT_SLABS) slab.free.push(slab)
}

/** Whether data written now has to wait beyond the end of this turn. */
const isBehind = (socket: Writable): boolean => socket.writableLength > 0 && socket.writableCorked === 0

/** The bytes without the rest of their memory, if that is much more: it must not be retained while they wait. */
const alone = (bytes: Buffer): Buffer => (bytes.length * 2 >= bytes.buffer.byteLength ? bytes : moved(bytes))

/** A copy in memory of its own, in place of the bytes. */
function moved(bytes: Buffer): Buffer {
  const copy = copyAlone(bytes)
  release(bytes)
  return copy
}

/** A copy with memory of its own. */
export function copyAlone(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

/** Writes owned bytes, and releases them when the socket has taken them. */
export function writeOwned(socket: Writable, bytes: Buffer): boolean {
  const sent = bytes.length <= ALONE_BYTES && isBehind(socket) ? alone(bytes) : bytes
  // Another stream may pass the bytes on to a reader that keeps them.
  if (sent.length <= SMALL_BYTES || !(socket instanceof Socket)) return socket.write(sent)
  return socket.write(sent, error => {
    // After an error the socket may still hold the memory.
    if (!error) release(sent)
  })
}

/** Joins small reads into one chunk. */
export class ReadBuffer {
  readonly #capacity: number
  #slab: Slab | undefined
  length = 0

  constructor(capacity = LARGEST_SLAB) {
    this.#capacity = capacity
  }

  get room(): number {
    return this.#capacity - this.length
  }

  /** Adds the bytes from `from` to `to`, which must fit. */
  add(source: Buffer, from: number, to: number): void {
    this.#slab ??= takeSlab(this.#capacity)
    if (this.#slab !== undefined) source.copy(this.#slab.memory, this.length, from, to)
    this.length += to - from
  }

  /** All that was added, to be kept or released. */
  take(): Buffer {
    const slab = this.#slab
    if (slab === undefined) return Buffer.alloc(0)
    const bytes = slab.memory.subarray(0, this.length)
    slab.used = this.length
    this.#slab = undefined
    this.length = 0
    // Writers do not release so few.
    return bytes.length > SMALL_BYTES ? bytes : moved(bytes)
  }
}
