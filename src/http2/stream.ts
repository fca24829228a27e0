import type { HeaderField } from '#http2/header-field.ts'
import type { HpackEncoder } from '#http2/hpack-encoder.ts'
import { type ContentSource, type Outflow, OutgoingContent } from '#http2/outflow.ts'
import type { Output } from '#http2/output.ts'
import {
  CONTINUATION,
  DATA,
  DEFAULT_FRAME_SIZE,
  END_HEADERS,
  END_STREAM,
  FLOW_CONTROL_ERROR,
  HEADERS,
  INTERNAL_ERROR,
  PROTOCOL_ERROR,
} from '#http2/protocol.ts'

const EMPTY = Buffer.alloc(0)
/** More unsent bytes than this are not requested. */
const HIGH_WATER = 65_536

/** Gets what arrives on a stream. */
export interface StreamReader {
  /** Owned bytes of the content. */
  data(bytes: Buffer): void
  /** The content is complete. */
  end(trailers: readonly HeaderField[]): void
  /** All that was written is sent, after `write` returned false. */
  drained(): void
  /** The own message is sent, and that of the peer is not complete. */
  sent(): void
  /** The last call: the stream is over. `code`: that of its reset; undefined if both directions have ended. */
  closed(code: number | undefined): void
}

/** What the streams of a connection share. */
export interface Http2StreamHost {
  readonly output: Output
  readonly outflow: Outflow
  readonly encoder: HpackEncoder
  readonly streamWindow: number
  /** Bytes of content wait for a reader; negative: they wait no more. */
  unread(bytes: number): void
  /** The stream is over. `isOwn`: it was reset from here, so the peer may still send on it. */
  over(stream: Http2Stream, isOwn: boolean): void
}

/** What both sides of a connection do with a stream. */
export abstract class Http2Stream<Reader extends StreamReader = StreamReader> implements ContentSource {
  readonly id: number
  readonly content: OutgoingContent
  protected readonly host: Http2StreamHost
  #reader: Reader | undefined
  /** Content that waits for the reader. */
  #held: Buffer[] = []
  #heldBytes = 0
  #trailers: readonly HeaderField[] | undefined
  /** Bytes that the peer may send, and those that it gets back with the next update. */
  #window: number
  #consumed = 0
  #lengthLeft: number | undefined
  #isFlowing = false
  #isEndDelivered = false
  #isAwaitingDrain = false
  #outgoingTrailers = ''
  #isLocallyEnded = false
  #isRemotelyEnded = false
  #isOver = false

  constructor(id: number, host: Http2StreamHost, sendWindow: number) {
    this.id = id
    this.host = host
    this.#window = host.streamWindow
    this.content = new OutgoingContent(id, sendWindow, this)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** The peer has sent all of its message. */
  get isRemotelyEnded(): boolean {
    return this.#isRemotelyEnded
  }

  /** The whole own message is sent. */
  get isLocallyEnded(): boolean {
    return this.#isLocallyEnded
  }

  /** The reader has got all of the peer's message. */
  protected get isEndDelivered(): boolean {
    return this.#isEndDelivered
  }

  /** Sets the reader, which starts with `resume`. */
  attach(reader: Reader): void {
    this.#reader = reader
  }

  pause(): void {
    this.#isFlowing = false
  }

  resume(): void {
    if (this.#isFlowing) return
    this.#isFlowing = true
    this.#deliver()
  }

  /** Sends owned bytes, or keeps them until the peer accepts them. False: wait for `drained`. */
  write(bytes: Buffer): boolean {
    if (this.#isOver || this.#isLocallyEnded || bytes.length === 0) return true
    this.host.outflow.write(this.content, bytes)
    this.#isAwaitingDrain = this.content.bytes >= HIGH_WATER
    return !this.#isAwaitingDrain
  }

  /** As `write`, for a text of latin1 characters. */
  writeText(text: string): void {
    if (this.#isOver || this.#isLocallyEnded || text === '') return
    if (!this.host.outflow.writeText(this.content, text)) this.write(Buffer.from(text, 'latin1'))
  }

  /** Ends the own message, after what was written. */
  end(trailers = ''): void {
    if (this.#isOver || this.#isLocallyEnded || this.content.isEnding) return
    this.#outgoingTrailers = trailers
    this.content.isEnding = true
    if (this.content.bytes === 0) this.#finish()
  }

  reset(code: number): void {
    if (this.#isOver) return
    // A peer that has sent and received everything knows the stream no more.
    const isKnown = !this.#isLocallyEnded || !this.#isRemotelyEnded
    if (isKnown) this.host.output.reset(this.id, code)
    this.close(code, isKnown)
  }

  /** The peer has sent the head; `length`: of the content that it announced. */
  begin(length: number | undefined, isEnded: boolean): void {
    this.#lengthLeft = length
    if (isEnded) this.remoteEnd([])
  }

  /** Owned content from the peer; `flow`: what it counts for the window. */
  receive(bytes: Buffer, flow: number): void {
    this.#window -= flow
    if (this.#lengthLeft !== undefined) this.#lengthLeft -= bytes.length
    if (this.#window < 0) {
      this.reset(FLOW_CONTROL_ERROR)
    } else if (this.#lengthLeft !== undefined && this.#lengthLeft < 0) {
      this.reset(PROTOCOL_ERROR)
    } else {
      this.#credit(flow - bytes.length)
      if (bytes.length > 0) this.#take(bytes)
    }
  }

  /** The peer has sent the end of its message. */
  remoteEnd(trailers: readonly HeaderField[]): void {
    if (this.#isOver) return
    if (this.#lengthLeft !== undefined && this.#lengthLeft > 0) {
      this.reset(PROTOCOL_ERROR)
      return
    }
    this.#isRemotelyEnded = true
    this.#trailers = trailers
    this.#deliver()
    if (this.#isLocallyEnded) this.ended()
  }

  /** The peer has reset the stream, or the connection is gone. */
  abort(code: number): void {
    this.close(code, false)
  }

  /** Both directions have ended. */
  protected abstract ended(): void

  #take(bytes: Buffer): void {
    if (this.#isFlowing && this.#held.length === 0) {
      this.#pass(bytes)
      return
    }
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    this.host.unread(bytes.length)
  }

  #deliver(): void {
    while (this.#isFlowing && this.#held.length > 0 && !this.#isOver) {
      const bytes = this.#held.shift() ?? EMPTY
      this.#heldBytes -= bytes.length
      this.host.unread(-bytes.length)
      this.#pass(bytes)
    }
    const trailers = this.#trailers
    if (!this.#isFlowing || trailers === undefined || this.#isEndDelivered || this.#isOver) return
    this.#isEndDelivered = true
    this.guard(reader => reader.end(trailers))
    if (this.#isLocallyEnded) this.ended()
  }

  #pass(bytes: Buffer): void {
    this.guard(reader => reader.data(bytes))
    // A reader that paused has taken these bytes, and gets more only later.
    this.#credit(bytes.length)
  }

  /** The window is restored in halves, so that few frames are needed. */
  #credit(bytes: number): void {
    this.#consumed += bytes
    if (this.#isRemotelyEnded || this.#isOver || this.#consumed < this.host.streamWindow / 2) return
    this.host.output.windowUpdate(this.id, this.#consumed)
    this.#window += this.#consumed
    this.#consumed = 0
  }

  contentSent(): void {
    if (this.content.isEnding) this.#finish()
    else this.#drained()
  }

  #drained(): void {
    if (!this.#isAwaitingDrain || this.#isOver) return
    this.#isAwaitingDrain = false
    this.guard(reader => reader.drained())
  }

  /** All content was sent. */
  #finish(): void {
    const { output, encoder } = this.host
    if (this.#outgoingTrailers !== '')
      this.sendBlock(encoder.encode(0, undefined, this.#outgoingTrailers), END_STREAM)
    else if (!output.endLast(this.id)) output.frame(DATA, END_STREAM, this.id, EMPTY, 0, 0)
    this.#isLocallyEnded = true
    if (this.#isRemotelyEnded) this.ended()
    else this.guard(reader => reader.sent())
  }

  /** Drops what was not sent, as if it were. */
  protected stopSending(): void {
    this.content.clear()
    this.#isLocallyEnded = true
    this.ended()
  }

  protected sendBlock(block: Buffer, flags: number): void {
    const { output } = this.host
    if (block.length <= DEFAULT_FRAME_SIZE) {
      output.frame(HEADERS, flags | END_HEADERS, this.id, block, 0, block.length)
      return
    }
    for (let at = 0; at < block.length; at += DEFAULT_FRAME_SIZE) {
      const to = Math.min(at + DEFAULT_FRAME_SIZE, block.length)
      const ends = to === block.length ? END_HEADERS : 0
      output.frame(at === 0 ? HEADERS : CONTINUATION, ends | (at === 0 ? flags : 0), this.id, block, at, to)
    }
    output.seal()
  }

  protected close(code: number | undefined, isOwn: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.content.clear()
    this.host.unread(-this.#heldBytes)
    this.#held = []
    this.#heldBytes = 0
    this.host.over(this, isOwn)
    this.guard(reader => reader.closed(code))
  }

  /** An internal error of a reader costs its stream and nothing else. */
  protected guard(action: (reader: Reader) => void): void {
    const reader = this.#reader
    if (reader === undefined) return
    try {
      action(reader)
    } catch {
      this.reset(INTERNAL_ERROR)
    }
  }
}
