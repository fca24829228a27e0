import { isUtf8 } from 'node:buffer'
import { closeCodes, type CloseCode, MAX_CONTROL, opcodes } from '#http/websocket/frames.ts'
import { Utf8Check } from '#http/websocket/utf8-check.ts'

/** Receives the events; nothing follows a close or a breach. */
export interface FrameListener {
  /** A part of a message: messages are streamed, never buffered. */
  content(bytes: Buffer): void
  ping(content: Buffer): void
  /** `code` is undefined when none was given. */
  close(code: number | undefined): void
  /** The peer violates the protocol; the code names the violation. */
  breach(reason: string, code: CloseCode): void
}

const FIN = 0x80
const RESERVED = 0x70
const MASKED = 0x80
const MASK_BYTES = 4
const MAX_HEAD = 14

/** Parses the frames of a WebSocket client (RFC 6455 §5), however the bytes are split. */
export class WebSocketFrameReader {
  readonly #listener: FrameListener
  readonly #head = Buffer.alloc(MAX_HEAD)
  readonly #mask = Buffer.alloc(MASK_BYTES)
  #headLength = 0
  /** Outstanding payload bytes of the current frame; undefined while its head is read. */
  #left: number | undefined
  #opcode: number = opcodes.continuation
  #masked = 0
  #inMessage = false
  /** Set while the message is text (RFC 6455 §8.1). */
  #text: Utf8Check | undefined
  #control: Buffer = Buffer.alloc(0)
  #over = false

  constructor(listener: FrameListener) {
    this.#listener = listener
  }

  /** Takes bytes, which are changed in place: payloads are masked. */
  push(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length && !this.#over) {
      if (this.#left === undefined) at = this.#readHead(bytes, at)
      else at = this.#readContent(bytes, at, this.#left)
    }
  }

  #readHead(bytes: Buffer, from: number): number {
    const head = this.#head
    let at = from
    while (at < bytes.length) {
      head[this.#headLength++] = bytes[at++] ?? 0
      if (this.#headLength === 2 && this.#isBroken()) return at
      if (this.#headLength >= 2 && this.#headLength === headBytes(head[1] ?? 0)) {
        this.#begin()
        return at
      }
    }
    return at
  }

  #isBroken(): boolean {
    const reason = this.#fault(this.#head[0] ?? 0, this.#head[1] ?? 0)
    if (reason === undefined) return false
    this.#breach(reason)
    return true
  }

  #fault(first: number, second: number): string | undefined {
    const opcode = first & 0x0f
    if ((first & RESERVED) !== 0) return 'a reserved bit is set'
    if ((second & MASKED) === 0) return 'a frame is not masked'
    if (opcode >= opcodes.close) {
      if (opcode > opcodes.pong) return 'an opcode is unknown'
      if ((first & FIN) === 0) return 'a control frame is fragmented'
      return (second & 0x7f) > MAX_CONTROL ? 'a control frame is too long' : undefined
    }
    if (opcode > opcodes.binary) return 'an opcode is unknown'
    const continues = opcode === opcodes.continuation
    if (continues !== this.#inMessage) return 'fragments are out of order'
    return undefined
  }

  #begin(): void {
    const head = this.#head
    const length = contentLength(head)
    head.copy(this.#mask, 0, this.#headLength - MASK_BYTES, this.#headLength)
    this.#headLength = 0
    if (!Number.isSafeInteger(length)) {
      this.#breach('a frame is too long')
      return
    }
    if (!isShortest(length, (head[1] ?? 0) & 0x7f)) {
      this.#breach('the length of a frame is not minimally encoded')
      return
    }
    this.#opcode = (head[0] ?? 0) & 0x0f
    if (this.#opcode === opcodes.text) this.#text = new Utf8Check()
    else if (this.#opcode === opcodes.binary) this.#text = undefined
    this.#masked = 0
    this.#left = length
    this.#control = Buffer.alloc(0)
    if (this.#opcode < opcodes.close) this.#inMessage = ((head[0] ?? 0) & FIN) === 0
    if (length === 0) this.#end()
  }

  #readContent(bytes: Buffer, from: number, left: number): number {
    const to = Math.min(bytes.length, from + left)
    const part = bytes.subarray(from, to)
    unmask(part, this.#mask, this.#masked)
    this.#masked += part.length
    this.#left = left - part.length
    if (this.#opcode >= opcodes.close) this.#control = Buffer.concat([this.#control, part])
    else if (this.#text?.push(part) === false) {
      this.#breach('a text is not UTF-8', closeCodes.notText)
      return to
    } else this.#listener.content(part)
    if (this.#left === 0) this.#end()
    return to
  }

  #end(): void {
    this.#left = undefined
    const content = this.#control
    if (this.#opcode === opcodes.ping) this.#listener.ping(content)
    else if (this.#opcode === opcodes.close) this.#close(content)
    else if (this.#opcode < opcodes.close && !this.#inMessage && this.#text?.end() === false)
      this.#breach('a text is not UTF-8', closeCodes.notText)
  }

  #close(content: Buffer): void {
    const code = content.length >= 2 ? content.readUInt16BE() : undefined
    if (content.length === 1 || (code !== undefined && !isSendable(code))) {
      this.#breach('its close code is invalid')
      return
    }
    if (!isUtf8(content.subarray(2))) {
      this.#breach('its close reason is not UTF-8', closeCodes.notText)
      return
    }
    this.#over = true
    this.#listener.close(code)
  }

  #breach(reason: string, code: CloseCode = closeCodes.protocolError): void {
    this.#over = true
    this.#listener.breach(reason, code)
  }
}

function headBytes(second: number): number {
  const length = second & 0x7f
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + MASK_BYTES
}

function contentLength(head: Buffer): number {
  const short = (head[1] ?? 0) & 0x7f
  if (short < 126) return short
  return short === 126 ? head.readUInt16BE(2) : head.readUInt32BE(2) * 2 ** 32 + head.readUInt32BE(6)
}

/** RFC 6455 §5.2: lengths must be minimally encoded. `written` is the second byte's value. */
const isShortest = (length: number, written: number): boolean =>
  written < 126 || length > (written === 126 ? 125 : 0xffff)

/** RFC 6455 §7.4: the others are reserved, or never sent. */
const isSendable = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) || (code >= 3000 && code <= 4999)

/** Unmasks; `done` bytes of the frame came before. Four at a time, since whole uploads pass here. */
function unmask(bytes: Buffer, mask: Buffer, done: number): void {
  const { length } = bytes
  let at = 0
  for (; at < length && (bytes.byteOffset + at) % 4 !== 0; at++)
    bytes[at] = (bytes[at] ?? 0) ^ (mask[(done + at) & 3] ?? 0)
  const words = (length - at) >> 2
  if (words > 0) {
    const turned = Uint8Array.from({ length: 4 }, (_, index) => mask[(done + at + index) & 3] ?? 0)
    const key = new Uint32Array(turned.buffer)[0] ?? 0
    const view = new Uint32Array(bytes.buffer, bytes.byteOffset + at, words)
    for (let index = 0; index < words; index++) view[index] = (view[index] ?? 0) ^ key
    at += words * 4
  }
  for (; at < length; at++) bytes[at] = (bytes[at] ?? 0) ^ (mask[(done + at) & 3] ?? 0)
}
