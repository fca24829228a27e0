import type { RequestLine } from '#agent/request-tap.ts'
import { BlockPool } from '#tunnel/block-pool.ts'

const HEAD_END = '\r\n\r\n'
const NOTHING = Buffer.alloc(0)
const BLOCK_BYTES = 65_536
/** A longer beginning gets blocks of its own. */
const MAX_SHARED = 4096
/**
 * For what is longer. Evicted messages leave their blocks to new ones: V8 answers new memory beside the heap with
 * collections of the whole heap.
 */
const longMemory = new BlockPool(8192, 256)

/** Small beginnings of messages share blocks, because a buffer for each would cost more than its bytes. */
let block: Buffer = NOTHING
let used = 0

function shared(bytes: Buffer): number {
  if (used + bytes.length > block.length) {
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    used = 0
  }
  block.set(bytes, used)
  used += bytes.length
  return used - bytes.length
}

/** What is kept of one message. */
export class CapturedMessage {
  /** The block with its beginning, if that is shared. */
  #block: Buffer | undefined
  #from = 0
  #to = 0
  /** The rest, in blocks of `longMemory`. */
  #rest: Buffer[] | undefined
  #restBytes = 0
  #kept = 0
  #size = 0

  /** Head and body as they passed, up to the limit. */
  get raw(): Buffer {
    const beginning = this.#block?.subarray(this.#from, this.#to) ?? NOTHING
    if (this.#rest === undefined) return beginning
    return Buffer.concat([beginning, ...this.#rest], beginning.length + this.#restBytes)
  }

  get head(): Buffer {
    const { raw } = this
    const end = raw.indexOf(HEAD_END, 0, 'latin1')
    return end === -1 ? raw : raw.subarray(0, end + HEAD_END.length)
  }

  /** Bytes that passed. */
  get size(): number {
    return this.#size
  }

  get kept(): number {
    return this.#kept
  }

  get isTruncated(): boolean {
    return this.#kept < this.#size
  }

  /** Copies as much as may be kept; returns how much that was. */
  add(bytes: Buffer, limit: number): number {
    const room = Math.min(bytes.length, limit - this.#kept)
    this.#size += bytes.length
    if (room <= 0) return 0
    const kept = room === bytes.length ? bytes : bytes.subarray(0, room)
    if (this.#kept === 0 && room <= MAX_SHARED) {
      this.#from = shared(kept)
      this.#to = this.#from + room
      this.#block = block
    } else this.#append(kept)
    this.#kept += room
    return room
  }

  /** Releases what is longer than a beginning; it cannot be read any more. */
  evict(): void {
    for (const part of this.#rest ?? []) longMemory.release(part)
    this.#rest = undefined
  }

  #append(bytes: Buffer): void {
    const rest = (this.#rest ??= [])
    let last = rest.at(-1)
    for (let at = 0; at < bytes.length;) {
      const filled = this.#restBytes % longMemory.bytes
      if (last === undefined || filled === 0) rest.push((last = longMemory.take()))
      const copied = bytes.copy(last, filled, at)
      this.#restBytes += copied
      at += copied
    }
  }
}

export interface ExchangeStart {
  readonly tunnelName: string
  readonly clientAddr: string
  /** Only if each request is reported. */
  readonly line: RequestLine | undefined
  /** The exchange whose request was sent again. */
  readonly replayOf: string | undefined
}

/** A captured request and its response. */
export class CapturedExchange {
  readonly tunnelName: string
  readonly clientAddr: string
  readonly line: RequestLine | undefined
  readonly replayOf: string | undefined
  readonly startedAt = Date.now()
  readonly request = new CapturedMessage()
  readonly response = new CapturedMessage()
  readonly #number: number
  readonly #begun = performance.now()
  #status: number | undefined
  #firstByteMs: number | undefined
  #durationMs: number | undefined
  #isComplete = false
  #isKept = true

  /** `number` counts the exchanges of a store. */
  constructor({ tunnelName, clientAddr, line, replayOf }: ExchangeStart, number: number) {
    this.#number = number
    this.tunnelName = tunnelName
    this.clientAddr = clientAddr
    this.line = line
    this.replayOf = replayOf
  }

  /** Ids sort by time as text. */
  get id(): string {
    const time = this.startedAt.toString(16).padStart(12, '0')
    return `airt_${time}${this.#number.toString(16).padStart(6, '0')}`
  }

  /** False once it was evicted or cleared. */
  get isKept(): boolean {
    return this.#isKept
  }

  /** Of the final response; undefined until its head is complete. */
  get status(): number | undefined {
    return this.#status
  }

  get firstByteMs(): number | undefined {
    return this.#firstByteMs
  }

  /** Until the response was complete or the connection ended; undefined before. */
  get durationMs(): number | undefined {
    return this.#durationMs
  }

  /** The whole response passed; false when the connection ended before. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  evict(): void {
    this.#isKept = false
    this.request.evict()
    this.response.evict()
  }

  respond(status: number, now: number): void {
    this.#status = status
    this.#firstByteMs = now - this.#begun
  }

  finish(isComplete: boolean, now: number): void {
    this.#durationMs ??= now - this.#begun
    this.#isComplete = isComplete
  }
}
