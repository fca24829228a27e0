import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** Stands before a server: while it is shut, the server cannot be reached. */
export class ClosableProxy implements AsyncDisposable {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isShut = false

  private constructor(server: Server, target: number) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    server.on('connection', socket => this.#pass(socket, target))
  }

  static async inFrontOf(target: number): Promise<ClosableProxy> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ClosableProxy(server, target)
  }

  close(): void {
    this.#isShut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  open(): void {
    this.#isShut = false
  }

  #pass(socket: Socket, target: number): void {
    if (this.#isShut) {
      socket.resetAndDestroy()
      return
    }
    const other = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [socket, other],
      [other, socket],
    ] as const) {
      this.#sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
    this.#server.close()
  }
}
