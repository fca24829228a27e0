import type { RequestLine } from '#agent/request-tap.ts'

const HEAD_END = '\r\n\r\n'

/** What is kept of one message. */
export class CapturedMessage {
  /** How it begins. The text is made for parsing anyway, so that to keep it costs less than a copy of the bytes. */
  #text = ''
  #pieces: Buffer[] | undefined
  #kept = 0
  #size = 0

  /** Head and body as they passed, up to the limit. */
  get raw(): Buffer {
    const text = Buffer.from(this.#text, 'latin1')
    return this.#pieces === undefined ? text : Buffer.concat([text, ...this.#pieces])
  }

  get head(): Buffer {
    const inText = this.#text.indexOf(HEAD_END)
    if (inText !== -1) return Buffer.from(this.#text.slice(0, inText + HEAD_END.length), 'latin1')
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

  /** Begins with a text in latin1; returns how much is kept of it. */
  begin(text: string, limit: number): number {
    this.#text = text.length > limit ? text.slice(0, limit) : text
    this.#size = text.length
    this.#kept = this.#text.length
    return this.#kept
  }

  /** Copies as much as may be kept; returns how much that was. */
  add(bytes: Buffer, limit: number): number {
    const room = Math.min(bytes.length, limit - this.#kept)
    this.#size += bytes.length
    if (room <= 0) return 0
    this.#pieces ??= []
    this.#pieces.push(Buffer.from(room === bytes.length ? bytes : bytes.subarray(0, room)))
    this.#kept += room
    return room
  }
}

export interface ExchangeStart {
  /** Counts the exchanges of a store. */
  readonly number: number
  readonly tunnelName: string
  readonly clientAddr: string
  readonly method: string
  /** Only if each request is reported. */
  readonly line: RequestLine | undefined
  /** The exchange whose request was sent again. */
  readonly replayOf: string | undefined
}

/** A captured request and its response. */
export class CapturedExchange {
  readonly tunnelName: string
  readonly clientAddr: string
  readonly method: string
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

  constructor({ number, tunnelName, clientAddr, method, line, replayOf }: ExchangeStart) {
    this.#number = number
    this.tunnelName = tunnelName
    this.clientAddr = clientAddr
    this.method = method
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

  respond(status: number): void {
    this.#status = status
    this.#firstByteMs = performance.now() - this.#begun
  }

  finish(isComplete: boolean): void {
    this.#durationMs ??= performance.now() - this.#begun
    this.#isComplete = isComplete
  }
}
