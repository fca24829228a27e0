import type { TLSSocket } from 'node:tls'
import type { RequestFields } from '../../src/http2/request-fields.ts'
import { Http2ServerConnection } from '../../src/http2/server-connection.ts'
import type { Http2ServerStream, ServerStreamReader } from '../../src/http2/server-stream.ts'
import type { Link, LinkEnd } from './mux-relay-link.ts'

const HEAD_END = '\r\n\r\n'
const CHECK_MS = 100

/** A connection to the service, which answers one request after the other. */
class ServiceConnection implements LinkEnd, ServerStreamReader {
  readonly #link: Link
  readonly #id: number
  readonly #idle: (connection: ServiceConnection) => void
  #stream: Http2ServerStream | undefined
  #left = 0

  constructor(link: Link, id: number, idle: (connection: ServiceConnection) => void) {
    this.#link = link
    this.#id = id
    this.#idle = idle
    link.add(id, this)
  }

  ask(stream: Http2ServerStream, { method, path, authority }: RequestFields): void {
    this.#stream = stream
    stream.attach(this)
    const text = `${method} ${path ?? ''} HTTP/1.1\r\nHost: ${authority ?? ''}${HEAD_END}`
    this.#link.send(this.#id, Buffer.from(text, 'latin1'))
  }

  /** Bytes of the service. Its heads arrive whole, with a length. */
  write(bytes: Buffer): boolean {
    const stream = this.#stream
    if (stream === undefined) return true
    const content = this.#left === 0 ? this.#begin(stream, bytes) : bytes
    this.#left -= content.length
    const isTaken = stream.write(content)
    if (this.#left === 0) {
      this.#stream = undefined
      stream.end()
      this.#idle(this)
    }
    return isTaken
  }

  drained(): void {
    this.#link.resume()
  }

  closed(): void {
    this.#link.resume()
  }

  pause(): void {}
  resume(): void {}
  data(): void {}
  end(): void {}
  sent(): void {}
  checkTimeouts(): void {}

  #begin(stream: Http2ServerStream, bytes: Buffer): Buffer {
    const at = bytes.indexOf(HEAD_END, 0, 'latin1')
    const head = bytes.toString('latin1', 0, at)
    this.#left = Number(/^content-length: (\d+)/im.exec(head)?.[1])
    stream.respond(200, this.#left, 'content-type: text/plain\r\n')
    return bytes.subarray(at + HEAD_END.length)
  }
}

/** Answers requests of HTTP/2 with responses of the service, over connections that are used again. */
export function http2Relay(
  newStream: () => { link: Link; id: number } | undefined,
): (socket: TLSSocket) => void {
  const idle: ServiceConnection[] = []
  const release = (connection: ServiceConnection): void => void idle.push(connection)
  const connections = new Set<Http2ServerConnection>()
  let now = performance.now()
  const timer = setInterval(() => {
    now = performance.now()
    for (const connection of connections) connection.checkTimeouts(now)
  }, CHECK_MS)
  timer.unref()
  return socket => {
    const connection: Http2ServerConnection = new Http2ServerConnection(socket, {
      request(stream, head) {
        const known = idle.pop()
        if (known !== undefined) return known.ask(stream, head)
        const made = newStream()
        if (made !== undefined) new ServiceConnection(made.link, made.id, release).ask(stream, head)
      },
      closed: () => connections.delete(connection),
      now: () => now,
    })
    connections.add(connection)
  }
}
