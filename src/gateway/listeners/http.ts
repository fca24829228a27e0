import type { Socket } from 'node:net'
import { Acceptor, type ListenAddress, type ListenerOptions } from '#gateway/listeners/acceptor.ts'
import { ClosingSockets } from '#gateway/listeners/closing-sockets.ts'
import { OpenHttp, type ServeHttp } from '#gateway/listeners/open-http.ts'
import { clientConnectionOf } from '#gateway/listeners/client-connection.ts'

export interface HttpListenerOptions extends ListenerOptions {
  readonly http1: ServeHttp<Socket>
}

/** Plain HTTP clients. */
export class HttpListener {
  readonly #acceptor: Acceptor
  readonly #serving = new OpenHttp()
  readonly #http1: ServeHttp<Socket>

  constructor(options: HttpListenerOptions) {
    this.#http1 = options.http1
    const { closing = new ClosingSockets() } = options
    this.#acceptor = new Acceptor({
      ...options,
      accept: socket => this.#accept(socket),
      refuse: socket => closing.refuseHttp(socket, 'gateway_full'),
    })
  }

  get connections(): number {
    return this.#acceptor.connections
  }

  listen(address: ListenAddress): Promise<ListenAddress> {
    return this.#acceptor.listen(address)
  }

  /** Finishes running requests; idle connections close at once, and what lasts past the deadline is aborted. */
  async drain(deadlineMs: number): Promise<void> {
    this.#serving.drain()
    await this.#acceptor.drain(deadlineMs)
  }

  #accept(socket: Socket): void {
    const client = clientConnectionOf(socket, undefined)
    if (client === undefined) socket.destroy()
    else this.#serving.add(socket, this.#http1(socket, { ...client, scheme: 'http' }))
  }
}
