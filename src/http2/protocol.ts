/** Frame types of RFC 9113 §6. */
export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9

/** Flags. ACK and END_STREAM share a bit, on different frames. */
export const ACK = 0x1
export const END_STREAM = 0x1
export const END_HEADERS = 0x4
export const PADDED = 0x8
export const HAS_PRIORITY = 0x20

/** Error codes of RFC 9113 §7. */
export const NO_ERROR = 0
export const PROTOCOL_ERROR = 1
export const INTERNAL_ERROR = 2
export const FLOW_CONTROL_ERROR = 3
export const SETTINGS_TIMEOUT = 4
export const STREAM_CLOSED = 5
export const FRAME_SIZE_ERROR = 6
export const REFUSED_STREAM = 7
export const CANCEL = 8
export const COMPRESSION_ERROR = 9
export const ENHANCE_YOUR_CALM = 11

/** Settings of RFC 9113 §6.5.2 and RFC 8441. */
export const HEADER_TABLE_SIZE = 1
export const ENABLE_PUSH = 2
export const MAX_CONCURRENT_STREAMS = 3
export const INITIAL_WINDOW_SIZE = 4
export const MAX_FRAME_SIZE = 5
export const MAX_HEADER_LIST_SIZE = 6
export const ENABLE_CONNECT_PROTOCOL = 8

export const FRAME_HEAD = 9
/** The frame size that every peer accepts; we do not ask for larger ones. */
export const DEFAULT_FRAME_SIZE = 16_384
export const DEFAULT_WINDOW = 65_535
export const MAX_WINDOW = 2 ** 31 - 1
/** The highest stream number: all requests sent so far will get a response. */
export const LAST_STREAM = 2 ** 31 - 1

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** A violation that ends the connection (RFC 9113 §5.4.1). */
export class ConnectionFault extends Error {
  readonly code: number

  constructor(code: number, reason: string) {
    super(reason)
    this.code = code
  }
}
