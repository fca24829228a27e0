import { withoutPadding, type FrameHead } from '#http2/frame-reader.ts'
import type { Http2Limits } from '#http2/limits.ts'
import {
  ConnectionFault,
  CONTINUATION,
  END_HEADERS,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  FRAME_SIZE_ERROR,
  HAS_PRIORITY,
  PADDED,
  PROTOCOL_ERROR,
} from '#http2/protocol.ts'

const PRIORITY_BYTES = 5

/** A complete header block. */
export interface HeaderBlock {
  readonly stream: number
  readonly endsStream: boolean
  /** It names its own stream as the one it depends on. */
  readonly isSelfDependent: boolean
  readonly bytes: Buffer
  readonly from: number
  readonly to: number
}

interface Unfinished {
  readonly stream: number
  readonly endsStream: boolean
  readonly isSelfDependent: boolean
  readonly parts: Buffer[]
  size: number
}

/** Whether the priority at `at` names the stream itself, which RFC 7540 §5.3.1 forbids. */
export const dependsOnItself = (stream: number, bytes: Buffer, at: number): boolean =>
  (bytes.readUInt32BE(at) & 0x7fff_ffff) === stream

/** Joins the frames of header blocks. */
export class HeaderBlocks {
  readonly #limits: Http2Limits
  #unfinished: Unfinished | undefined

  constructor(limits: Http2Limits) {
    this.#limits = limits
  }

  /** Between the frames of a block there may be no others. */
  expects(type: number, stream: number): boolean {
    const unfinished = this.#unfinished
    if (unfinished === undefined) return type !== CONTINUATION
    return type === CONTINUATION && stream === unfinished.stream
  }

  /** A HEADERS frame; undefined: its block continues. */
  headers({ flags, stream }: FrameHead, bytes: Buffer, start: number, end: number): HeaderBlock | undefined {
    let from = start
    const to = (flags & PADDED) === 0 ? end : withoutPadding(bytes, from++, end)
    const hasPriority = (flags & HAS_PRIORITY) !== 0
    if (hasPriority && to - from < PRIORITY_BYTES)
      throw new ConnectionFault(FRAME_SIZE_ERROR, 'a HEADERS frame is too short for its priority')
    const isSelfDependent = hasPriority && dependsOnItself(stream, bytes, from)
    if (hasPriority) from += PRIORITY_BYTES
    const endsStream = (flags & END_STREAM) !== 0
    if ((flags & END_HEADERS) !== 0) return { stream, endsStream, isSelfDependent, bytes, from, to }
    const parts = [Buffer.from(bytes.subarray(from, to))]
    this.#unfinished = { stream, endsStream, isSelfDependent, parts, size: to - from }
    return undefined
  }

  continuation({ flags }: FrameHead, bytes: Buffer, from: number, to: number): HeaderBlock | undefined {
    const unfinished = this.#unfinished
    if (unfinished === undefined)
      throw new ConnectionFault(PROTOCOL_ERROR, 'a CONTINUATION frame continues nothing')
    const { parts } = unfinished
    unfinished.size += to - from
    // Without the rest the table is lost, so the connection cannot continue.
    if (unfinished.size > this.#limits.blockBytes || parts.length > this.#limits.continuations)
      throw new ConnectionFault(ENHANCE_YOUR_CALM, 'a header block is too long')
    parts.push(Buffer.from(bytes.subarray(from, to)))
    if ((flags & END_HEADERS) === 0) return undefined
    this.#unfinished = undefined
    const whole = Buffer.concat(parts)
    return { ...unfinished, bytes: whole, from: 0, to: whole.length }
  }
}
