/** What is kept of one message. */
export class CapturedMessage {
  readonly #pieces: Buffer[] = []
  #kept = 0
  #size = 0

  /** Head and body as they passed, up to the limit. */
  get raw(): Buffer {
    return Buffer.concat(this.#pieces)
  }

  /** The head alone, which always arrives as one piece. */
  get head(): Buffer {
    return this.#pieces[0] ?? Buffer.alloc(0)
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
    this.#pieces.push(Buffer.from(room === bytes.length ? bytes : bytes.subarray(0, room)))
    this.#kept += room
    return room
  }
}

export interface ExchangeStart {
  readonly id: string
  readonly tunnelName: string
  readonly clientAddr: string
  /** The exchange whose request was sent again. */
  readonly replayOf?: string | undefined
}

/** A captured request and its response. */
export class Exchange {
  readonly id: string
  readonly tunnelName: string
  readonly clientAddr: string
  readonly replayOf: string | undefined
  readonly startedAt = Date.now()
  readonly request = new CapturedMessage()
  readonly response = new CapturedMessage()
  readonly #begun = performance.now()
  #status: number | undefined
  #firstByteMs: number | undefined
  #durationMs: number | undefined
  #isComplete = false

  constructor({ id, tunnelName, clientAddr, replayOf }: ExchangeStart) {
    this.id = id
    this.tunnelName = tunnelName
    this.clientAddr = clientAddr
    this.replayOf = replayOf
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
