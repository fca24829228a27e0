import type { Socket } from 'node:net'
import { inBackground } from '#base/background.ts'
import { Acceptor, type ListenerOptions } from '#gateway/listeners/acceptor.ts'
import { forward, type L4Upstream } from '#gateway/listeners/l4-proxy.ts'
import { clientConnectionOf } from '#gateway/listeners/client-connection.ts'

interface TcpPortsOptions extends ListenerOptions {
  /** The address on which all ports are opened. */
  readonly host: string
}

/** The ports of TCP endpoints, opened and closed while the gateway runs. */
export class TcpPorts {
  readonly #options: TcpPortsOptions
  readonly #ports = new Map<number, Acceptor>()
  // Closed ports whose connections continue.
  readonly #closed = new Set<Acceptor>()

  constructor(options: TcpPortsOptions) {
    this.#options = options
  }

  get connections(): number {
    return [...this.#ports.values(), ...this.#closed].reduce((sum, { connections }) => sum + connections, 0)
  }

  get ports(): readonly number[] {
    return [...this.#ports.keys()]
  }

  /**
   * Opens a port and resolves to it; 0 is any free one. Rejects with the system's error: the code is EADDRINUSE when
   * this or another program uses it.
   */
  async open(port: number, upstream: L4Upstream): Promise<number> {
    if (this.#ports.has(port)) throw inUse(port)
    const { host } = this.#options
    const acceptor = new Acceptor({ ...this.#options, accept: socket => this.#accept(socket, upstream) })
    // Recorded before it is open: two concurrent opens must not both succeed where ports are shared.
    if (port !== 0) this.#ports.set(port, acceptor)
    try {
      const taken = await acceptor.listen({ host, port })
      this.#ports.set(taken.port, acceptor)
      return taken.port
    } catch (error) {
      if (this.#ports.get(port) === acceptor) this.#ports.delete(port)
      throw error
    }
  }

  /** Stops accepting on a port; connections continue. */
  close(port: number): void {
    const acceptor = this.#ports.get(port)
    if (acceptor === undefined) return
    this.#ports.delete(port)
    this.#closed.add(acceptor)
    void acceptor.whenEmpty().then(() => this.#closed.delete(acceptor))
    acceptor.close()
  }

  async drain(deadlineMs: number): Promise<void> {
    const acceptors = [...this.#ports.values(), ...this.#closed]
    this.#ports.clear()
    await Promise.all(acceptors.map(acceptor => acceptor.drain(deadlineMs)))
  }

  #accept(socket: Socket, upstream: L4Upstream): void {
    const client = clientConnectionOf(socket, undefined)
    if (client === undefined) socket.destroy()
    else
      void inBackground({ task: 'listeners', log: this.#options.log }, () =>
        forward(socket, client, upstream, this.#options),
      )
  }
}

function inUse(port: number): Error {
  return Object.assign(new Error(`Port ${port} is already open.`), { code: 'EADDRINUSE' })
}
