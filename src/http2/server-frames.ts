import { fault, type FrameEvents, Http2FrameHandler } from '#http2/frame-handler.ts'
import type { HeaderBlock } from '#http2/header-blocks.ts'
import { areTrailers, type HeaderField } from '#http2/header-field.ts'
import type { Http2Limits } from '#http2/limits.ts'
import type { Output } from '#http2/output.ts'
import {
  CANCEL,
  ConnectionFault,
  ENHANCE_YOUR_CALM,
  PROTOCOL_ERROR,
  REFUSED_STREAM,
  STREAM_CLOSED,
} from '#http2/protocol.ts'
import { type RequestFields, requestFields } from '#http2/request-fields.ts'
import { Http2ServerStream } from '#http2/server-stream.ts'

export interface ServerEvents extends FrameEvents {
  /** A well-formed request has arrived. */
  request(stream: Http2ServerStream, head: RequestFields, isComplete: boolean): void
}

/** Acts on the frames of a client. */
export class ServerFrameHandler extends Http2FrameHandler<Http2ServerStream> {
  readonly #events: ServerEvents
  /** Further streams are ignored: the client has been asked to use another connection. */
  isFinal = false

  constructor(output: Output, limits: Http2Limits, events: ServerEvents) {
    super(output, limits, events)
    this.#events = events
  }

  protected headers(block: HeaderBlock, fields: readonly HeaderField[] | undefined): void {
    const { stream: id, endsStream } = block
    const stream = this.streams.get(id)
    if (stream !== undefined) {
      if (stream.isRemotelyEnded) this.refuse(id, STREAM_CLOSED, 'invalid')
      else if (endsStream && fields !== undefined && areTrailers(fields)) stream.remoteEnd(fields)
      else this.refuse(id, PROTOCOL_ERROR, 'invalid')
      return
    }
    if (id <= this.streams.last) {
      if (this.streams.stateOf(id) === 'closed')
        throw new ConnectionFault(STREAM_CLOSED, 'a closed stream gets a header block')
      this.onClosed(id)
      return
    }
    if (this.isFinal) return
    this.streams.use(id)
    if (fields === undefined) {
      this.refuse(id, ENHANCE_YOUR_CALM, 'invalid')
      return
    }
    const head = block.isSelfDependent ? undefined : requestFields(fields, endsStream)
    if (head === undefined) this.refuse(id, PROTOCOL_ERROR, 'invalid')
    else if (this.streams.size >= this.limits.streams) this.refuse(id, REFUSED_STREAM, 'reset')
    else this.#accept(id, head, endsStream)
  }

  protected onClosed(id: number): void {
    const state = this.streams.stateOf(id)
    if (state === 'idle' || state === 'skipped') {
      // Streams after a GOAWAY were never accepted.
      if (this.isFinal && id > this.streams.last) return
      throw fault('a stream is used before it is opened')
    }
    if (state === 'closed') this.refuse(id, STREAM_CLOSED, 'invalid')
  }

  protected isIdle(id: number): boolean {
    return this.streams.stateOf(id) === 'idle' && !(this.isFinal && id > this.streams.last)
  }

  /** A client that resets a request does not want it, for whatever reason. */
  protected resetCode(): number {
    return CANCEL
  }

  protected settings(): void {
    // The others concern servers.
  }

  protected goaway(): void {
    // It concerns streams of the server, which opens none.
  }

  #accept(id: number, head: RequestFields, isComplete: boolean): void {
    const stream = new Http2ServerStream(id, this, this.initialWindow)
    stream.begin(head.length, isComplete)
    this.streams.add(stream)
    this.#events.request(stream, head, isComplete)
  }
}
