import type { RequestLine } from '#agent/request-tap.ts'

const HEAD_END = '\r\n\r\n'
const NOTHING = Buffer.alloc(0)
const BLOCK_BYTES = 65_536
/** A longer beginning gets a buffer of its own. */
const MAX_SHARED = 4096

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
  #pieces: Buffer[] | undefined
  #kept = 0
  #size = 0

  /** Head and body as they passed, up to the limit. */
  get raw(): Buffer {
    const beginning = this.#block?.subarray(this.#from, this.#to) ?? NOTHING
    return this.#pieces === undefined ? beginning : Buffer.concat([beginning, ...this.#pieces])
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
    } else (this.#pieces ??= []).push(Buffer.from(kept))
    this.#kept += room
    return room
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
  /** False once it was evicted or cleared. */
  isKept = true
  readonly #number: number
  readonly #begun = performance.now()
  #status: number | undefined
  #firstByteMs: number | undefined
  #durationMs: number | undefined
  #isComplete = false

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

  respond(status: number, now: number): void {
    this.#status = status
    this.#firstByteMs = now - this.#begun
  }

  finish(isComplete: boolean, now: number): void {
    this.#durationMs ??= now - this.#begun
    this.#isComplete = isComplete
  }
}
