import { Socket } from 'node:net'
import type { Writable } from 'node:stream'

// Copies up to this size are slices of shared blocks; a larger one gets its own slab, which can be reused.
const SMALL_BYTES = 16_384
const BLOCK_BYTES = 65_536
const SLAB_SIZES = [32_768, 65_536, 131_072] as const
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
  if (length <= SMALL_BYTES) return smallCopy(source, from, to)
  const slab = takeSlab(length)
  if (slab === undefined) return Buffer.from(source.subarray(from, to))
  slab.used = length
  source.copy(slab.memory, 0, from, to)
  return slab.memory.subarray(0, length)
}

function smallCopy(source: Buffer, from: number, to: number): Buffer {
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
 * Releases bytes, so that large reads need no new memory. Omitting this is always safe; calling it twice, or for bytes
 * that others may have kept, is not. Parts of a read may be released one by one, and bytes that no read has brought are
 * ignored.
 */
export function release(bytes: Buffer): void {
  if (bytes.length === 0) return
  const slab = slabs.get(bytes.buffer)
  if (slab === undefined) return
  slab.used -= bytes.length
  if (slab.used === 0 && slab.free.length < KEPT_SLABS) slab.free.push(slab)
}

/** Whether data written now has to wait beyond the end of this turn. */
const isBehind = (socket: Writable): boolean => socket.writableLength > 0 && socket.writableCorked === 0

/** Data that waits for a slow reader must not retain the rest of a shared block. */
function alone(bytes: Buffer): Buffer {
  if (bytes.length * 2 >= bytes.buffer.byteLength) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

/** Writes owned bytes, and releases them when the socket has taken them. */
export function writeOwned(socket: Writable, bytes: Buffer): boolean {
  if (bytes.length <= SMALL_BYTES) return socket.write(isBehind(socket) ? alone(bytes) : bytes)
  // Another stream may pass the bytes on to a reader that keeps them.
  if (!(socket instanceof Socket)) return socket.write(bytes)
  return socket.write(bytes, error => {
    // After an error the socket may still hold the memory.
    if (!error) release(bytes)
  })
}

/** Joins small reads into one chunk. */
export class ReadBuffer {
  #slab: Slab | undefined
  length = 0

  get room(): number {
    return LARGEST_SLAB - this.length
  }

  /** Adds the first `count` bytes, which must fit. */
  add(source: Buffer, count: number): void {
    this.#slab ??= takeSlab(LARGEST_SLAB)
    if (this.#slab !== undefined) source.copy(this.#slab.memory, this.length, 0, count)
    this.length += count
  }

  /** All that was added, to be kept or released. */
  take(): Buffer {
    const slab = this.#slab
    if (slab === undefined) return Buffer.alloc(0)
    const bytes = slab.memory.subarray(0, this.length)
    slab.used = this.length
    this.#slab = undefined
    this.length = 0
    return bytes
  }
}
