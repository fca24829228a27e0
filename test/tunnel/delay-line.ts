import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

async function pass(from: Socket, to: Socket, delayMs: number): Promise<void> {
  let before: Promise<unknown> = Promise.resolve()
  from.on('data', (bytes: Buffer) => {
    const due = Promise.all([before, delay(delayMs)])
    before = due.then(() => to.write(bytes))
  })
  await once(from, 'end')
  await before
  to.end()
}

/**
 * A proxy to a port that delays every byte, at any rate. Only the flow control of its ends limits the bytes in flight.
 */
export class DelayLine implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async to(port: number, roundTripMs: number): Promise<DelayLine> {
    const server = createServer({ noDelay: true, allowHalfOpen: true })
    const line = new DelayLine(server)
    server.on('connection', near => {
      const far = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
      for (const socket of [near, far]) {
        line.#sockets.add(socket)
        socket.on('error', () => undefined)
      }
      pass(near, far, roundTripMs / 2).catch(() => far.destroy())
      pass(far, near, roundTripMs / 2).catch(() => near.destroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return line
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
