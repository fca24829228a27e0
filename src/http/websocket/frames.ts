/** RFC 6455 §5.2 and §11.8. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const
/** RFC 6455 §7.4.1. */
export const closeCodes = { normal: 1000, protocolError: 1002, notText: 1007, fault: 1011 } as const
export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes]

export const MAX_CONTROL = 125
const FIN = 0x80
const LENGTH_16 = 126
const LENGTH_64 = 127
/** Longer data is sent in several messages, so that receivers need not buffer more. */
const MAX_MESSAGE = 1024 * 1024
// Up to this size copying a payload after its head is cheaper than two writes.
const COPIED_BYTES = 16_384

/** A complete control frame. */
export function controlFrame(opcode: number, content: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(2 + content.length)
  frame[0] = FIN | opcode
  frame[1] = content.length
  content.copy(frame, 2)
  return frame
}

export function closeFrame(code: number): Buffer {
  const content = Buffer.allocUnsafe(2)
  content.writeUInt16BE(code)
  return controlFrame(opcodes.close, content)
}

/** Data as binary messages, in pieces to be sent in order. */
export function* binaryFrames(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += MAX_MESSAGE) {
    const part = content.subarray(at, at + MAX_MESSAGE)
    const head = binaryHead(part.length)
    if (part.length <= COPIED_BYTES) yield Buffer.concat([head, part])
    else {
      yield head
      yield part
    }
  }
}

function binaryHead(length: number): Buffer {
  if (length < LENGTH_16) return Buffer.from([FIN | opcodes.binary, length])
  if (length <= 0xffff) return Buffer.from([FIN | opcodes.binary, LENGTH_16, length >> 8, length & 0xff])
  const head = Buffer.alloc(10)
  head[0] = FIN | opcodes.binary
  head[1] = LENGTH_64
  head.writeUInt32BE(length, 6)
  return head
}
