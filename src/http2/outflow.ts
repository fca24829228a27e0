import type { Http2FloodMeter } from '#http2/flood-meter.ts'
import type { Output } from '#http2/output.ts'
import { DATA, DEFAULT_FRAME_SIZE, DEFAULT_WINDOW, MAX_WINDOW } from '#http2/protocol.ts'
import { release } from '#tunnel/buffer-pool.ts'

const EMPTY = Buffer.alloc(0)

/** Where content comes from. */
export interface ContentSource {
  /** All that there is was sent. */
  contentSent(): void
}

/** The sending side of a stream. */
export class OutgoingContent {
  readonly stream: number
  readonly source: ContentSource
  /** Bytes that the peer accepts. */
  window: number
  /** Data that waits for credit or for the connection; the first `sent` bytes of the first part are sent. */
  readonly parts: Buffer[] = []
  sent = 0
  bytes = 0
  /** Nothing follows. */
  isEnding = false
  isReady = false

  constructor(stream: number, window: number, source: ContentSource) {
    this.stream = stream
    this.window = window
    this.source = source
  }

  /** Drops what was not sent. */
  clear(): void {
    this.parts.length = 0
    this.bytes = 0
  }
}

/** Sends the data of all streams of a connection within its windows; streams take turns, a frame each. */
export class Outflow {
  readonly #output: Output
  readonly #meter: Http2FloodMeter
  #window = DEFAULT_WINDOW
  #ready: OutgoingContent[] = []
  #isPumping = false

  constructor(output: Output, meter: Http2FloodMeter) {
    this.#output = output
    this.#meter = meter
  }

  /** The peer accepts more bytes on the connection; false: more than there can be. */
  credit(bytes: number): boolean {
    this.#window += bytes
    if (this.#window > MAX_WINDOW) return false
    this.pump()
    return true
  }

  /** The peer accepts more bytes on a stream, or fewer; false: more than there can be. */
  creditStream(content: OutgoingContent, bytes: number): boolean {
    content.window += bytes
    if (content.window > MAX_WINDOW) return false
    if (content.bytes > 0 && content.window > 0) this.#enqueue(content)
    return true
  }

  /** Sends data, or keeps it until it can be sent. The bytes are owned, and released afterwards. */
  write(content: OutgoingContent, bytes: Buffer): void {
    content.parts.push(bytes)
    content.bytes += bytes.length
    if (content.isReady || content.window <= 0) return
    content.isReady = true
    this.#ready.push(content)
    this.pump()
  }

  /** Sends a short text at once; false: it has to wait. */
  writeText(content: OutgoingContent, text: string): boolean {
    const size = text.length
    const isPossible = content.bytes === 0 && size <= DEFAULT_FRAME_SIZE && size <= content.window
    if (!isPossible || size > this.#window || this.#output.isCongested) return false
    this.#output.textFrame(DATA, content.stream, text)
    this.#meter.dataSent()
    content.window -= size
    this.#window -= size
    return true
  }

  /** Sends what the windows and the socket allow. */
  pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    const output = this.#output
    while (this.#ready.length > 0 && this.#window > 0 && !output.isCongested) {
      const round = this.#ready
      this.#ready = []
      for (const content of round) this.#turn(content)
    }
    this.#isPumping = false
  }

  #enqueue(content: OutgoingContent): void {
    if (content.isReady) return
    content.isReady = true
    this.#ready.push(content)
    this.pump()
  }

  #turn(content: OutgoingContent): void {
    content.isReady = false
    if (this.#window > 0 && content.window > 0 && content.bytes > 0) this.#sendFrame(content)
    if (content.bytes > 0 && content.window > 0) {
      content.isReady = true
      this.#ready.push(content)
    }
  }

  #sendFrame(content: OutgoingContent): void {
    const [part = EMPTY] = content.parts
    const from = content.sent
    const size = Math.min(part.length - from, DEFAULT_FRAME_SIZE, content.window, this.#window)
    this.#output.frame(DATA, 0, content.stream, part, from, from + size)
    this.#meter.dataSent()
    content.window -= size
    this.#window -= size
    content.bytes -= size
    content.sent = from + size
    if (content.sent === part.length) {
      content.parts.shift()
      content.sent = 0
      release(part)
    }
    if (content.bytes === 0) content.source.contentSent()
  }
}
