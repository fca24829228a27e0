import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { pipeline, Transform } from 'node:stream'
import { Folder } from './folder.ts'

const SOCKET = '.s.PGSQL.5432'

/** The same database, at another host. */
export function atHost(url: string, host: string): string {
  const moved = new URL(url)
  moved.searchParams.set('host', host)
  return moved.href
}

export const hostOf = (url: string): string => new URL(url).searchParams.get('host') ?? ''

/** A proxy in front of PostgreSQL that delays bytes to the client. */
export class PostgresRelay implements AsyncDisposable {
  delayMs = 0
  /** The largest number of connections at one time. */
  mostConnections = 0
  readonly #folder = new Folder()
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer(socket => this.#relay(socket))
  readonly #target: string
  readonly #url: string

  private constructor(url: string) {
    this.#target = join(hostOf(url), SOCKET)
    this.#url = url
  }

  /** The database, through the relay. */
  get url(): string {
    return atHost(this.#url, this.#folder.path)
  }

  static async start(url: string): Promise<PostgresRelay> {
    const relay = new PostgresRelay(url)
    const path = relay.#folder.file(SOCKET)
    relay.#server.listen(path)
    await once(relay.#server, 'listening')
    return relay
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
    this.#folder[Symbol.dispose]()
  }

  #relay(client: Socket): void {
    const server = createConnection(this.#target)
    this.#sockets.add(client)
    this.mostConnections = Math.max(this.mostConnections, this.#sockets.size)
    const slow = new Transform({
      // A longer delay than the test must not keep its process.
      transform: (chunk, _, done) => void setTimeout(done, this.delayMs, null, chunk).unref(),
    })
    const ended = (): void => {
      this.#sockets.delete(client)
      client.destroy()
      server.destroy()
    }
    pipeline(client, server, ended)
    pipeline(server, slow, client, ended)
  }
}
