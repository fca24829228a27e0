import type { Http2Limits } from '#http2/limits.ts'
import {
  ConnectionFault,
  ENABLE_CONNECT_PROTOCOL,
  ENABLE_PUSH,
  ENHANCE_YOUR_CALM,
  FLOW_CONTROL_ERROR,
  FRAME_SIZE_ERROR,
  HEADER_TABLE_SIZE,
  INITIAL_WINDOW_SIZE,
  MAX_CONCURRENT_STREAMS,
  MAX_FRAME_SIZE,
  MAX_HEADER_LIST_SIZE,
  MAX_WINDOW,
  PROTOCOL_ERROR,
} from '#http2/protocol.ts'

const ENTRY_BYTES = 6
const SMALLEST_FRAME_LIMIT = 16_384
const LARGEST_FRAME_LIMIT = 2 ** 24 - 1

/** The settings of a peer that matter here. */
export interface PeerSettings {
  readonly tableSize?: number
  readonly initialWindow?: number
  /** Requests that it handles at the same time. */
  readonly streams?: number
}

/** Reads the payload of a SETTINGS frame. */
export function readSettings(bytes: Buffer, from: number, to: number, limits: Http2Limits): PeerSettings {
  if ((to - from) % ENTRY_BYTES !== 0)
    throw new ConnectionFault(FRAME_SIZE_ERROR, 'a SETTINGS frame has a part of a setting')
  if ((to - from) / ENTRY_BYTES > limits.settings)
    throw new ConnectionFault(ENHANCE_YOUR_CALM, 'a SETTINGS frame has too many settings')
  const read: { -readonly [Key in keyof PeerSettings]: PeerSettings[Key] } = {}
  for (let at = from; at < to; at += ENTRY_BYTES) {
    const value = bytes.readUInt32BE(at + 2)
    switch (bytes.readUInt16BE(at)) {
      case HEADER_TABLE_SIZE:
        read.tableSize = value
        break
      case INITIAL_WINDOW_SIZE:
        check(value <= MAX_WINDOW, FLOW_CONTROL_ERROR)
        read.initialWindow = value
        break
      case MAX_CONCURRENT_STREAMS:
        read.streams = value
        break
      case ENABLE_PUSH:
      case ENABLE_CONNECT_PROTOCOL:
        check(value <= 1, PROTOCOL_ERROR)
        break
      case MAX_FRAME_SIZE:
        check(value >= SMALLEST_FRAME_LIMIT && value <= LARGEST_FRAME_LIMIT, PROTOCOL_ERROR)
        break
    }
  }
  return read
}

function check(isValid: boolean, code: number): void {
  if (!isValid) throw new ConnectionFault(code, 'a setting has a value that is not valid')
}

/** The payload of the SETTINGS frame of a server. */
export const serverSettings = ({ streams, streamWindow, listBytes }: Http2Limits): Buffer =>
  payloadOf([
    [MAX_CONCURRENT_STREAMS, streams],
    [INITIAL_WINDOW_SIZE, streamWindow],
    [MAX_HEADER_LIST_SIZE, listBytes],
    [ENABLE_CONNECT_PROTOCOL, 1],
  ])

/** The payload of the SETTINGS frame of a client. */
export const clientSettings = ({ streamWindow, listBytes }: Http2Limits): Buffer =>
  payloadOf([
    [ENABLE_PUSH, 0],
    [INITIAL_WINDOW_SIZE, streamWindow],
    [MAX_HEADER_LIST_SIZE, listBytes],
  ])

function payloadOf(values: readonly (readonly [name: number, value: number])[]): Buffer {
  const bytes = Buffer.alloc(values.length * ENTRY_BYTES)
  for (const [at, [name, value]] of values.entries()) {
    bytes.writeUInt16BE(name, at * ENTRY_BYTES)
    bytes.writeUInt32BE(value, at * ENTRY_BYTES + 2)
  }
  return bytes
}
