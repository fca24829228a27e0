import { once } from 'node:events'
import {
  type AddressInfo,
  connect,
  createServer,
  type NetConnectOpts,
  type Server,
  type Socket,
} from 'node:net'

/** A network between two parts of a cluster, which a test can cut: no byte gets through, and no connection is closed. */
export class Wire implements AsyncDisposable {
  readonly port: number
  readonly #server: Server
  readonly #pairs: Set<readonly [Socket, Socket]>
  #isCut = false

  private constructor(server: Server, pairs: Set<readonly [Socket, Socket]>) {
    this.#server = server
    this.#pairs = pairs
    this.port = (server.address() as AddressInfo).port
    server.on('connection', () => this.#isCut && this.cut())
  }

  static async to(target: NetConnectOpts): Promise<Wire> {
    const pairs = new Set<readonly [Socket, Socket]>()
    const server = createServer(near => {
      const far = connect(target)
      const pair = [near, far] as const
      pairs.add(pair)
      near.pipe(far).pipe(near)
      for (const socket of pair) {
        socket.on('error', () => undefined)
        socket.once('close', () => {
          pairs.delete(pair)
          for (const other of pair) other.destroy()
        })
      }
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return new Wire(server, pairs)
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  /** Connections that are made from now on get no answer either. */
  cut(): void {
    this.#isCut = true
    for (const [near, far] of this.#pairs) {
      near.unpipe(far).pause()
      far.unpipe(near).pause()
    }
  }

  /** What was sent meanwhile arrives. */
  mend(): void {
    this.#isCut = false
    for (const [near, far] of this.#pairs) near.pipe(far).pipe(near)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
