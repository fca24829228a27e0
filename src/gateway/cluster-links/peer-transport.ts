import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** How gateway processes connect to each other. */
export interface PeerTransport {
  listen(accept: (socket: Socket) => void): Promise<void>
  /** Connects to another process, and to no other than that one. */
  connect(node: string): Promise<Socket>
  /** Stops accepting; resolves when all accepted connections are closed. */
  close(): Promise<void>
}

/** Between the processes of one machine: a socket file each, in a private folder. */
export class SocketFiles implements PeerTransport {
  readonly #pathOf: (node: string) => string
  readonly #node: string
  #server: Server | undefined

  constructor(node: string, pathOf: (node: string) => string) {
    this.#node = node
    this.#pathOf = pathOf
  }

  async listen(accept: (socket: Socket) => void): Promise<void> {
    const path = this.#pathOf(this.#node)
    // A killed process leaves its socket behind, and its successor could not listen there.
    await rm(path, { force: true })
    this.#server = createServer(accept).listen(path)
    await once(this.#server, 'listening')
  }

  async connect(node: string): Promise<Socket> {
    const socket = connect(this.#pathOf(node))
    await once(socket, 'connect')
    return socket
  }

  async close(): Promise<void> {
    if (this.#server === undefined) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    await closed
  }
}
