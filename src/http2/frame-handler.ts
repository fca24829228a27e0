import { type CountedFrame, Http2FloodMeter } from '#http2/flood-meter.ts'
import type { DataPart, FrameHead, FrameReceiver } from '#http2/frame-reader.ts'
import { dependsOnItself, type HeaderBlock, HeaderBlocks } from '#http2/header-blocks.ts'
import type { HeaderField } from '#http2/header-field.ts'
import { HpackDecoder } from '#http2/hpack-decoder.ts'
import { HpackEncoder } from '#http2/hpack-encoder.ts'
import { Inflow } from '#http2/inflow.ts'
import type { Http2Limits } from '#http2/limits.ts'
import { Outflow } from '#http2/outflow.ts'
import type { Output } from '#http2/output.ts'
import * as http2 from '#http2/protocol.ts'
import { type PeerSettings, readSettings } from '#http2/settings.ts'
import { StreamTable } from '#http2/stream-table.ts'
import type { Http2Stream, Http2StreamHost } from '#http2/stream.ts'
import { ownedCopy } from '#tunnel/buffer-pool.ts'

const { ConnectionFault } = http2
const EMPTY = Buffer.alloc(0)

export const fault = (reason: string): http2.ConnectionFault =>
  new ConnectionFault(http2.PROTOCOL_ERROR, reason)

/** What a connection learns from its frames. */
export interface FrameEvents {
  /** A stream is over. */
  streamOver(): void
  /** The peer has acknowledged our settings. */
  settingsAcknowledged?(): void
  /** The peer has acknowledged a PING. */
  pingAcknowledged?(): void
}

/** Acts on the frames of a peer by the rules of RFC 9113; throws `ConnectionFault` for what ends the connection. */
export abstract class Http2FrameHandler<Stream extends Http2Stream>
  implements FrameReceiver, Http2StreamHost
{
  readonly output: Output
  readonly outflow: Outflow
  readonly encoder = new HpackEncoder()
  readonly streams = new StreamTable<Stream>()
  readonly meter = new Http2FloodMeter()
  readonly streamWindow: number
  readonly #events: FrameEvents
  protected readonly limits: Http2Limits
  readonly #inflow: Inflow
  readonly #decoder: HpackDecoder
  readonly #blocks: HeaderBlocks
  /** What the peer accepts on a new stream. */
  protected initialWindow = http2.DEFAULT_WINDOW

  constructor(output: Output, limits: Http2Limits, events: FrameEvents) {
    this.output = output
    this.limits = limits
    this.#events = events
    this.streamWindow = limits.streamWindow
    this.outflow = new Outflow(output, this.meter)
    this.#inflow = new Inflow(output, limits)
    this.#decoder = new HpackDecoder(limits)
    this.#blocks = new HeaderBlocks(limits)
  }

  unread(bytes: number): void {
    this.#inflow.unread(bytes)
  }

  over(stream: Http2Stream, isOwn: boolean): void {
    this.streams.delete(stream.id)
    if (isOwn) this.streams.wasReset(stream.id)
    this.#events.streamOver()
  }

  data({ stream: id, flags, flow, isEmpty }: DataPart, bytes: Buffer, from: number, to: number): void {
    if (!this.#blocks.expects(http2.DATA, id)) throw fault('DATA within a header block')
    this.#inflow.received(flow)
    const isEnd = (flags & http2.END_STREAM) !== 0
    if (isEmpty && !isEnd) this.count('empty')
    const stream = this.streams.get(id)
    if (stream === undefined) {
      this.onClosed(id)
      return
    }
    if (stream.isRemotelyEnded) {
      this.refuse(id, http2.STREAM_CLOSED, 'invalid')
      return
    }
    stream.receive(from === to ? EMPTY : ownedCopy(bytes, from, to), flow)
    if (isEnd) stream.remoteEnd([])
  }

  frame(head: FrameHead, bytes: Buffer, from: number, to: number): void {
    if (!this.#blocks.expects(head.type, head.stream)) throw fault('a frame is out of place')
    switch (head.type) {
      case http2.HEADERS:
        this.#block(this.#blocks.headers(head, bytes, from, to))
        break
      case http2.CONTINUATION:
        this.count('continuation')
        this.#block(this.#blocks.continuation(head, bytes, from, to))
        break
      case http2.PRIORITY:
        this.#priority(head, bytes, from, to)
        break
      case http2.RST_STREAM:
        checkShape(head, true, to - from === 4)
        this.#reset(head.stream, bytes.readUInt32BE(from))
        break
      case http2.SETTINGS:
        this.#settings(head, bytes, from, to)
        break
      case http2.PING:
        this.#ping(head, bytes, from, to)
        break
      case http2.GOAWAY:
        checkShape(head, false, to - from >= 8)
        this.count('settings')
        this.goaway(bytes.readUInt32BE(from) & http2.LAST_STREAM)
        break
      case http2.WINDOW_UPDATE:
        checkShape(head, undefined, to - from === 4)
        this.#windowUpdate(head.stream, bytes.readUInt32BE(from) & http2.MAX_WINDOW)
        break
      case http2.PUSH_PROMISE:
        throw fault('a push was not requested')
      default:
        this.count('other')
    }
  }

  /** The fields of a complete header block; undefined if they exceed the limits. */
  protected abstract headers(block: HeaderBlock, fields: readonly HeaderField[] | undefined): void

  /** A frame on a stream that is not open. */
  protected abstract onClosed(id: number): void

  /** Whether a stream was never opened, by either side. */
  protected abstract isIdle(id: number): boolean

  /** The code of a reset, as the stream gets it. */
  protected abstract resetCode(sent: number): number

  protected abstract settings(settings: PeerSettings): void

  /** The peer accepts no streams above this one. */
  protected abstract goaway(lastStream: number): void

  #block(block: HeaderBlock | undefined): void {
    if (block === undefined) return
    if (block.stream % 2 === 0) throw fault('only clients open streams, with odd numbers')
    this.headers(block, this.#decoder.decode(block.bytes, block.from, block.to))
  }

  /** Resets a stream, open or not. */
  protected refuse(id: number, code: number, counted: CountedFrame): void {
    const stream = this.streams.get(id)
    if (stream === undefined) {
      this.output.reset(id, code)
      this.streams.wasReset(id)
    } else {
      stream.reset(code)
    }
    this.count(counted)
  }

  #priority(head: FrameHead, bytes: Buffer, from: number, to: number): void {
    checkShape(head, true, to - from === 5)
    if (dependsOnItself(head.stream, bytes, from)) throw fault('a stream depends on itself')
    this.count('other')
  }

  #reset(id: number, code: number): void {
    const stream = this.streams.get(id)
    if (stream === undefined && this.isIdle(id)) throw fault('an idle stream is reset')
    stream?.abort(this.resetCode(code))
    this.count('reset')
  }

  #settings(head: FrameHead, bytes: Buffer, from: number, to: number): void {
    const isAck = (head.flags & http2.ACK) !== 0
    checkShape(head, false, !isAck || from === to)
    this.count('settings')
    if (isAck) {
      this.#events.settingsAcknowledged?.()
      return
    }
    const settings = readSettings(bytes, from, to, this.limits)
    const { tableSize, initialWindow } = settings
    if (tableSize !== undefined) this.encoder.limitTable(tableSize)
    if (initialWindow !== undefined) this.#changeWindows(initialWindow)
    this.settings(settings)
    this.output.frame(http2.SETTINGS, http2.ACK, 0, EMPTY, 0, 0)
  }

  #changeWindows(initialWindow: number): void {
    const change = initialWindow - this.initialWindow
    this.initialWindow = initialWindow
    for (const { content } of this.streams.all())
      if (!this.outflow.creditStream(content, change))
        throw new ConnectionFault(http2.FLOW_CONTROL_ERROR, 'the window of a stream is too large')
  }

  #ping(head: FrameHead, bytes: Buffer, from: number, to: number): void {
    checkShape(head, false, to - from === 8)
    this.count('ping')
    if ((head.flags & http2.ACK) !== 0) this.#events.pingAcknowledged?.()
    else this.output.frame(http2.PING, http2.ACK, 0, bytes, from, to)
  }

  #windowUpdate(id: number, bytes: number): void {
    this.count('window')
    if (id === 0) {
      if (bytes === 0) throw fault('a window grows by nothing')
      if (!this.outflow.credit(bytes))
        throw new ConnectionFault(http2.FLOW_CONTROL_ERROR, 'the window of the connection is too large')
      return
    }
    const stream = this.streams.get(id)
    if (stream === undefined) {
      if (this.isIdle(id)) throw fault('an idle stream gets credit')
    } else if (bytes === 0) {
      this.refuse(id, http2.PROTOCOL_ERROR, 'invalid')
    } else if (!this.outflow.creditStream(stream.content, bytes)) {
      this.refuse(id, http2.FLOW_CONTROL_ERROR, 'invalid')
    }
  }

  protected count(frame: CountedFrame): void {
    if (!this.meter.tolerates(frame))
      throw new ConnectionFault(http2.ENHANCE_YOUR_CALM, `too many frames of the kind "${frame}"`)
  }
}

/** `ofStream`: whether the frame belongs to a stream; undefined: it may. */
function checkShape({ stream }: FrameHead, ofStream: boolean | undefined, hasSize: boolean): void {
  if (ofStream !== undefined && stream > 0 !== ofStream) throw fault('a frame has a wrong stream')
  if (!hasSize) throw new ConnectionFault(http2.FRAME_SIZE_ERROR, 'a frame has a wrong size')
}
