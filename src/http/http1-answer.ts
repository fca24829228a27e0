import type { Socket } from 'node:net'
import type { Reply } from '#http/exchange.ts'
import type { Body, BodySink } from '#http/body.ts'
import { serializeResponseHead, endsWithConnection, type ResponseTransfer } from '#http/http1-serialize.ts'
import { TextBody } from '#http/http1-whole.ts'
import { cut } from '#tunnel/splice.ts'
import { writeOwned } from '#tunnel/buffer-pool.ts'

// Bytes buffered for a slow client before its upstream is paused.
const HIGH_WATER = 131_072
// Up to this size joining text is cheaper than a vectored write.
const JOINED_BYTES = 16_384

/** Writes responses to a client socket, one after the other: head and first bytes at once, then as they arrive. */
export class AnswerWriter implements BodySink {
  readonly #socket: Socket
  readonly #ended: () => void
  readonly #unsendable: (reason: string) => void
  readonly #uncork: () => void
  #head = ''
  #body: Body | undefined
  #held = false
  #corked = false
  #untilClose = false

  /** `ended` is called when a response was written completely, `unsendable` when it failed before its first byte. */
  constructor(socket: Socket, ended: () => void, unsendable: (reason: string) => void) {
    this.#socket = socket
    this.#ended = ended
    this.#unsendable = unsendable
    this.#uncork = () => {
      this.#corked = false
      socket.uncork()
    }
  }

  /** Starts a response; if it cannot be finished the socket is destroyed. */
  begin({ head, body }: Reply, transfer: ResponseTransfer): void {
    const text = serializeResponseHead(head, transfer)
    if (body instanceof TextBody && !transfer.bare) {
      this.#socket.write(text + body.text, 'latin1')
      this.#ended()
      return
    }
    this.#head = text
    if (transfer.bare || head.framing.kind === 'none') {
      body.cancel()
      this.end()
      return
    }
    this.#body = body
    this.#untilClose = endsWithConnection(head.framing, transfer.version)
    body.read(this, transfer.version === '1.1')
    if (this.#head !== '') this.#flushHead()
  }

  data(bytes: Buffer): void {
    const socket = this.#socket
    const head = this.#head
    this.#head = ''
    if (head !== '' && bytes.length <= JOINED_BYTES) {
      socket.write(head + bytes.toString('latin1'), 'latin1')
    } else {
      this.#cork()
      if (head !== '') socket.write(head, 'latin1')
      writeOwned(socket, bytes)
    }
    if (socket.writableLength < HIGH_WATER || this.#held) return
    this.#held = true
    this.#body?.pause()
  }

  end(): void {
    if (this.#head !== '') this.#flushHead()
    this.#body = undefined
    this.#held = false
    this.#ended()
  }

  fail(error: Error): void {
    this.#body = undefined
    if (this.#head !== '') {
      this.#head = ''
      this.#unsendable(error.message)
      return
    }
    // A body that ends with the connection would look complete after a normal close.
    if (this.#untilClose) cut(this.#socket)
    else this.#socket.destroy()
  }

  /** The socket has drained. */
  drained(): void {
    if (!this.#held) return
    this.#held = false
    this.#body?.resume()
  }

  /** The client has disconnected. */
  abandon(): void {
    const body = this.#body
    this.#body = undefined
    body?.cancel()
  }

  #flushHead(): void {
    const head = this.#head
    this.#head = ''
    this.#socket.write(head, 'latin1')
  }

  /** What arrives in one turn is sent in one write; behind buffered data it would be anyway. */
  #cork(): void {
    if (this.#corked || this.#socket.writableLength > 0) return
    this.#corked = true
    this.#socket.cork()
    process.nextTick(this.#uncork)
  }
}
