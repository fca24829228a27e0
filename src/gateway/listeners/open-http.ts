import type { Socket } from 'node:net'
import type { HttpClientConnection } from '#http/exchange.ts'

/** A connection that serves HTTP. */
export interface ServedHttp {
  /** Accepts no new requests, and closes after the last response. */
  drain(): void
  /** Aborts running requests. An idle connection is kept: its next request gets the reason. */
  cut(): void
}

/** Serves a client connection. */
export type ServeHttp<Connection extends Socket> = (
  socket: Connection,
  client: HttpClientConnection,
) => ServedHttp

/** The HTTP connections of a listener, for draining. */
export class OpenHttp {
  readonly #connections = new Set<ServedHttp>()
  #draining = false

  add(socket: Socket, served: ServedHttp): void {
    if (socket.destroyed) return
    if (this.#draining) served.drain()
    this.#connections.add(served)
    socket.on('close', () => this.#connections.delete(served))
  }

  drain(): void {
    this.#draining = true
    for (const connection of this.#connections) connection.drain()
  }
}
