import { WebSocketFrameReader, type FrameListener } from '#http/websocket/frame-reader.ts'
import {
  binaryFrames,
  type CloseCode,
  closeCodes,
  closeFrame,
  controlFrame,
  opcodes,
} from '#http/websocket/frames.ts'
import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'
import { TunnelError } from '#tunnel/frame.ts'

/** A client that keeps sending after the end is reset; this much may have been in flight. */
const MAX_IGNORED = 1024 * 1024
/** How long a service may take to close after the client has. */
const LINGER_MS = 10_000

/**
 * A TCP connection presented as a WebSocket: the client writes frames, whose payload is sent to the service as bare
 * bytes, and data of the service becomes binary messages.
 */
export class WebSocketTcpStream implements ByteStream {
  readonly #service: ByteStream
  readonly #reader: WebSocketFrameReader
  #sink: Sink | undefined
  #rest: Buffer | undefined
  #paused = false
  /** The latest unanswered ping of a client that does not read; RFC 6455 §5.5.3 requires no more. */
  #pong: Buffer | undefined
  /** We have sent a close frame: nothing may follow in that direction. */
  #closeSent = false
  /** Data from the client is ignored. */
  #deaf = false
  #ignored = 0
  /** The client has closed its connection. */
  #ended = false
  /** The connection to the service was reset. */
  #released = false
  #linger: NodeJS.Timeout | undefined
  #taken = true
  #closed = false

  constructor(service: ByteStream) {
    this.#service = service
    const listener: FrameListener = {
      content: bytes => {
        if (!service.write(bytes)) this.#taken = false
      },
      ping: content => this.#answer(content),
      close: code => this.#clientCloses(code),
      breach: (_reason, code) => this.#breach(code),
    }
    this.#reader = new WebSocketFrameReader(listener)
  }

  get closed(): boolean {
    return this.#closed
  }

  get peerFinished(): boolean {
    return this.#closeSent
  }

  attach(sink: Sink): void {
    if (this.#closed) {
      sink.closed(undefined)
      return
    }
    this.#sink = sink
    const rest = this.#rest
    this.#rest = undefined
    if (rest !== undefined) sink.data(rest)
    this.#service.attach({
      data: bytes => this.#serviceSent(bytes),
      end: () => this.#sendClose(closeCodes.normal),
      writable: () => this.#sink?.writable?.(),
      closed: error => this.#serviceClosed(error),
    })
  }

  detach(rest?: Buffer): void {
    this.#sink = undefined
    this.#rest = rest
    this.#service.detach()
  }

  pause(): void {
    this.#paused = true
    if (!this.#released) this.#service.pause()
  }

  resume(): void {
    this.#paused = false
    const pong = this.#pong
    this.#pong = undefined
    if (pong !== undefined) this.#answer(pong)
    this.#service.resume()
  }

  write(bytes: Buffer, spent = false): boolean {
    if (this.#deaf) {
      this.#ignore(bytes.length)
      return true
    }
    this.#taken = true
    // Payloads are unmasked in place; a caller that reuses the bytes must copy them.
    this.#reader.push(spent ? bytes : Buffer.from(bytes))
    return this.#taken
  }

  /** The client's connection has ended, with or without a close frame; the service may still send data. */
  end(bytes?: Buffer): void {
    if (bytes !== undefined) this.write(bytes)
    this.#deaf = true
    this.#ended = true
    if (this.#closeSent) this.#finish()
    else this.#service.end()
  }

  abort(): void {
    if (this.#closed) return
    this.#closed = true
    this.#sink = undefined
    if (!this.#released) this.#service.abort()
  }

  #serviceSent(bytes: Buffer): void {
    if (this.#closeSent) return
    for (const frame of binaryFrames(bytes)) this.#sink?.data(frame)
  }

  #serviceClosed(error: TunnelError | undefined): void {
    clearTimeout(this.#linger)
    this.#deaf = true
    this.#sendClose(error === undefined ? closeCodes.normal : closeCodes.fault)
  }

  #answer(content: Buffer): void {
    if (this.#closeSent) return
    if (this.#paused) this.#pong = content
    else this.#sink?.data(controlFrame(opcodes.pong, content))
  }

  #clientCloses(code: number | undefined): void {
    this.#deaf = true
    this.#sendClose(code ?? closeCodes.normal)
    this.#release()
  }

  #breach(code: CloseCode): void {
    this.#deaf = true
    this.#released = true
    this.#service.abort()
    this.#sendClose(code)
  }

  /** Sends a close frame once, and ends that direction: a client that never responds then counts as gone. */
  #sendClose(code: number): void {
    if (this.#closeSent) return
    this.#closeSent = true
    this.#sink?.data(closeFrame(code))
    this.#sink?.end()
    if (this.#ended) this.#finish()
  }

  /** What the client sent before its close frame still reaches the service, whose own data is dropped. */
  #release(): void {
    if (this.#released) return
    this.#released = true
    this.#service.end()
    if (this.#service.closed) return
    this.#linger = setTimeout(() => this.#service.abort(), LINGER_MS).unref()
    this.#service.resume()
  }

  #ignore(length: number): void {
    this.#ignored += length
    const sink = this.#sink
    if (this.#ignored <= MAX_IGNORED || sink === undefined) return
    this.abort()
    sink.closed(new TunnelError('stream_closed', 'The client keeps sending after the end.'))
  }

  #finish(): void {
    if (this.#closed) return
    this.#closed = true
    this.#release()
    this.#sink?.closed(undefined)
  }
}
