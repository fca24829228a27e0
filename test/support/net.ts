import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A test server on a free port; disposing of it closes its connections. */
export interface Listening extends AsyncDisposable {
  readonly port: number
  /** The open connections. */
  readonly sockets: ReadonlySet<Socket>
  /** How many connections came. */
  readonly connections: () => number
}

export async function listening(server: Server, host = '127.0.0.1'): Promise<Listening> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  })
  await once(server.listen(0, host), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** The close of a connection. Unlike `once`, an error before it does not reject: the peer may reset it. */
export const closed = (connection: NodeJS.EventEmitter): Promise<void> =>
  new Promise(resolve => connection.once('close', () => resolve()))

/** A TCP echo service. */
export const echo = (): Promise<Listening> => listening(createServer(socket => socket.pipe(socket)))
