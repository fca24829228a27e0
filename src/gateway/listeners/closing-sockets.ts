import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Problem, type ErrorName } from '#base/errors.ts'

const LINGER_MS = 1000
/** Beyond this many at a time no response is sent: a flood must not live on in its rejections. */
const MAX_LINGERING = 256

/** Sockets that get a last message and are closed; one for all listeners of a gateway. */
export class ClosingSockets {
  #count = 0

  /** Sends an HTTP client the reason for its rejection, and closes without reading the request. */
  refuseHttp(socket: Socket, code: ErrorName, values: Record<string, string | number> = {}): void {
    this.writeAndClose(socket, Buffer.from(httpText(new Problem(code, values))))
  }

  /** Sends some bytes and closes so that they arrive: closing with unread input would discard them. */
  writeAndClose(socket: Socket, bytes: Buffer): void {
    if (this.#count >= MAX_LINGERING) {
      socket.destroy()
      return
    }
    this.#count++
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.on('close', () => {
      this.#count--
      clearTimeout(timer)
    })
    socket.on('data', () => undefined)
    socket.end(bytes)
    socket.resume()
  }
}

function httpText({ status, number, message }: Problem): string {
  const code = `ERR_ADIT_${number ?? status}`
  const body = `${message}\n\n${code}\n`
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\nAdit-Error-Code: ${code}\r\n` +
    `${status === 503 ? 'Retry-After: 5\r\n' : ''}Connection: close\r\n\r\n${body}`
  )
}
