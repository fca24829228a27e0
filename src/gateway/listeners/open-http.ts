import type { Socket } from 'node:net'
import type { Visitor } from '#http/exchange.ts'

/** A connection on which HTTP is being served. */
export interface ServedHttp {
  /** Takes no new requests, and closes when the last one is answered. */
  drain(): void
  /** Ends what runs. A connection on which nothing runs is kept: its next request is answered with the reason. */
  cut(): void
}

/** Serves a visitor's connection. */
export type ServeHttp<Connection extends Socket> = (socket: Connection, visitor: Visitor) => ServedHttp

/** The HTTP connections of a listener, so that they can be told to finish. */
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
