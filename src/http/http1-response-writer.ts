import type { Socket } from 'node:net'
import type { Reply } from '#http/exchange.ts'
import type { Body, BodySink } from '#http/body.ts'
import type { ResponseHead } from '#http/head.ts'
import {
  endsWithConnection,
  type ResponseTransfer,
  serializeInformationalHead,
  serializeResponseHead,
  WrittenHead,
} from '#http/http1-serialize.ts'
import { TextBody } from '#http/http1-whole.ts'
import type { SiteIsolation } from '#http/site-isolation.ts'
import { cut } from '#tunnel/splice.ts'
import { writeOwned } from '#tunnel/buffer-pool.ts'

// Bytes buffered for a slow client before its upstream is paused.
const HIGH_WATER = 131_072
// Up to this size joining text is cheaper than a vectored write.
const JOINED_BYTES = 16_384
/** In place of a host that is alone on its site: all of them send a head as it is. */
const ALONE = ''

interface WriterOptions {
  /** Isolates responses of hosts from each other; absent: off. */
  readonly isolation: SiteIsolation | undefined
  /** A response was written completely. */
  readonly ended: () => void
  /** A response has failed before its first byte. */
  readonly unsendable: (reason: string) => void
}

/** Writes responses to a client socket, one after the other: head and first bytes at once, then as they arrive. */
export class ResponseWriter implements BodySink {
  readonly #socket: Socket
  readonly #isolation: SiteIsolation | undefined
  readonly #ended: () => void
  readonly #unsendable: (reason: string) => void
  readonly #uncork: () => void
  #head = ''
  #body: Body | undefined
  #held = false
  #corked = false
  #untilClose = false

  constructor(socket: Socket, { isolation, ended, unsendable }: WriterOptions) {
    this.#socket = socket
    this.#isolation = isolation
    this.#ended = ended
    this.#unsendable = unsendable
    this.#uncork = () => {
      this.#corked = false
      socket.uncork()
    }
  }

  /** Writes an interim response of a host, or its 101. */
  informational(head: ResponseHead, host: string): void {
    this.#socket.write(serializeInformationalHead(this.#confined(head, host)), 'latin1')
  }

  /** Starts a response; if it cannot be finished the socket is destroyed. No host: it is one of the gateway itself. */
  respond({ head, body }: Reply, transfer: ResponseTransfer, host?: string): void {
    const text =
      host === undefined ? serializeResponseHead(head, transfer) : this.#headText(head, transfer, host)
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

  /** A head that is sent for the second time is probably sent often: its text is kept. */
  #headText(head: ResponseHead, transfer: ResponseTransfer, host: string): string {
    const { requestId, keepAlive, version, bare } = transfer
    const isUsual = keepAlive && version === '1.1' && !bare
    // A head without an id is made for one response.
    if (!isUsual || requestId === undefined)
      return serializeResponseHead(this.#confined(head, host), transfer)
    const { written } = head
    const isWritten = written instanceof WrittenHead && written.isOf(head)
    if (isWritten && written.host === host) return written.text(requestId)
    const owner = this.#isolation?.shares(host) === true ? host : ALONE
    if (isWritten && written.host === owner) return written.text(requestId)
    const sent = this.#confined(head, host)
    head.written = written === owner ? new WrittenHead(head, owner, sent, transfer) : owner
    return serializeResponseHead(sent, transfer)
  }

  #confined(head: ResponseHead, host: string): ResponseHead {
    return this.#isolation?.confined(head, host) ?? head
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
    setImmediate(this.#uncork)
  }
}
