import type { Socket } from 'node:net'
import type { Endpoint, Exchange, Reply } from '../../src/http/exchange.ts'
import { type BodySource, IncomingBody } from '../../src/http/http1-body.ts'
import { responseTrailers } from '../../src/http/http1-chunks.ts'
import { ResponseHeads } from '../../src/http/http1-response-head.ts'
import { framingField } from '../../src/http/http1-serialize.ts'
import { serveHttp1 } from '../../src/http/http1-server-connection.ts'
import { TextBody } from '../../src/http/http1-whole.ts'
import type { Link, LinkEnd } from './mux-relay-link.ts'

const HEAD_END = '\r\n\r\n'
/** A response that is not longer is sent in one write with its head. */
const INLINE_BYTES = 2048

/** A connection to the service, which answers one request after the other. Its heads arrive whole. */
class ServiceConnection implements LinkEnd, BodySource {
  readonly #link: Link
  readonly #id: number
  readonly #idle: (connection: ServiceConnection) => void
  readonly #heads = new ResponseHeads()
  #method = ''
  #resolve: (reply: Reply) => void = () => undefined
  #reject: (error: Error) => void = () => undefined
  #upload: Exchange['body'] | undefined
  #body: IncomingBody | undefined
  #isHeld = false

  constructor(link: Link, id: number, idle: (connection: ServiceConnection) => void) {
    this.#link = link
    this.#id = id
    this.#idle = idle
    link.add(id, this)
  }

  ask({ head, body }: Exchange): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    this.#method = head.method
    this.#resolve = resolve
    this.#reject = reject
    const { framing, fields } = head
    const length = framing.kind === 'none' ? '' : framingField(framing, '1.1')
    const text = `${head.method} ${head.target} HTTP/1.1\r\nHost: ${head.authority}\r\n${fields.text}${length}\r\n`
    this.#link.send(this.#id, Buffer.from(text, 'latin1'))
    if (framing.kind !== 'none') {
      this.#upload = body
      const ignored = (): void => undefined
      body.read({ data: bytes => this.#link.send(this.#id, bytes), end: ignored, fail: ignored }, true)
    }
    return promise
  }

  /** Bytes of the service. */
  write(bytes: Buffer): boolean {
    if (this.#body === undefined) this.#begin(bytes)
    else this.#body.push(bytes)
    return !this.#isHeld
  }

  end(): void {
    this.#body?.close()
  }

  /** The link cannot take more. */
  pause(): void {
    this.#upload?.pause()
  }

  resume(): void {
    this.#upload?.resume()
  }

  holdContent(): void {
    this.#isHeld = true
  }

  moreContent(): void {
    this.#isHeld = false
    this.#link.resume()
  }

  contentEnded(): void {
    this.#ended()
    // Others share the link, and the last bytes may have been held.
    this.moreContent()
  }

  contentBroken(): void {
    this.moreContent()
  }

  contentUnwanted(): void {
    this.moreContent()
  }

  #begin(bytes: Buffer): void {
    const text = bytes.toString('latin1', 0, INLINE_BYTES)
    const end = text.indexOf(HEAD_END)
    const head = this.#heads.read(bytes, text, end + 2, this.#method)
    if (typeof head === 'string') return this.#reject(new Error(head))
    const rest = bytes.length - end - HEAD_END.length
    if (head.framing.kind === 'length' && rest === head.framing.length && text.length === bytes.length) {
      this.#ended()
      this.#resolve({ head, body: new TextBody(text.slice(end + HEAD_END.length), head.framing) })
      return
    }
    this.#body = new IncomingBody(head.framing, this, responseTrailers)
    this.#body.push(bytes.subarray(end + HEAD_END.length))
    this.#resolve({ head, body: this.#body })
  }

  #ended(): void {
    this.#body = undefined
    this.#upload = undefined
    this.#idle(this)
  }
}

const client = {
  ip: '127.0.0.1',
  port: 0,
  localIp: '127.0.0.1',
  localPort: 0,
  serverName: undefined,
} as const

/** Answers requests of HTTP/1 with responses of the service, over connections that are used again. */
export function http1Relay(
  scheme: 'http' | 'https',
  newStream: () => { link: Link; id: number } | undefined,
): (socket: Socket) => void {
  const idle: ServiceConnection[] = []
  const release = (connection: ServiceConnection): void => void idle.push(connection)
  const answer: Endpoint = exchange => {
    const known = idle.pop()
    if (known !== undefined) return known.ask(exchange)
    const made = newStream()
    if (made === undefined) return Promise.reject(new Error('there is no link'))
    return new ServiceConnection(made.link, made.id, release).ask(exchange)
  }
  return socket => void serveHttp1(socket, { client: { ...client, scheme }, answer })
}
