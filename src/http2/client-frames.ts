import { fault, type FrameEvents, Http2FrameHandler } from '#http2/frame-handler.ts'
import { Http2ClientStream, type OutgoingHead } from '#http2/client-stream.ts'
import type { HeaderBlock } from '#http2/header-blocks.ts'
import type { HeaderField } from '#http2/header-field.ts'
import type { Http2Limits } from '#http2/limits.ts'
import type { Output } from '#http2/output.ts'
import { LAST_STREAM, REFUSED_STREAM, STREAM_CLOSED } from '#http2/protocol.ts'
import type { PeerSettings } from '#http2/settings.ts'

export interface ClientEvents extends FrameEvents {
  /** The server has sent its settings; `streams`: how many it accepts at a time, if it has announced it. */
  settings(streams: number | undefined): void
  /** The server accepts no new requests on this connection. */
  goaway(): void
}

/** Acts on the frames of a server. */
export class ClientFrameHandler extends Http2FrameHandler<Http2ClientStream> {
  readonly #events: ClientEvents

  constructor(output: Output, limits: Http2Limits, events: ClientEvents) {
    super(output, limits, events)
    this.#events = events
  }

  /** Whether there is a number for another stream. */
  get canOpen(): boolean {
    return this.streams.last < LAST_STREAM
  }

  /** Opens a stream with the head of its request: the numbers of streams are sent in ascending order. */
  open(head: OutgoingHead): Http2ClientStream {
    const id = this.streams.last === 0 ? 1 : this.streams.last + 2
    this.streams.use(id)
    this.meter.requestSent()
    const stream = new Http2ClientStream(id, this, this.initialWindow, head)
    this.streams.add(stream)
    return stream
  }

  protected headers(
    { stream: id, endsStream }: HeaderBlock,
    fields: readonly HeaderField[] | undefined,
  ): void {
    const stream = this.streams.get(id)
    if (stream === undefined) this.onClosed(id)
    else if (stream.isRemotelyEnded) this.refuse(id, STREAM_CLOSED, 'invalid')
    else stream.headers(fields, endsStream)
  }

  /** The server may have sent it before it knew of our reset. */
  protected onClosed(id: number): void {
    if (this.isIdle(id)) throw fault('a stream is used before it is opened')
  }

  protected isIdle(id: number): boolean {
    return this.streams.stateOf(id) === 'idle'
  }

  protected resetCode(sent: number): number {
    return sent
  }

  protected settings({ streams }: PeerSettings): void {
    this.#events.settings(streams)
  }

  protected goaway(lastStream: number): void {
    this.#events.goaway()
    for (const stream of this.streams.all()) if (stream.id > lastStream) stream.abort(REFUSED_STREAM)
  }
}
