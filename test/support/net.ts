import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A server of a test on a free port; its end cuts those who are connected. */
export interface Listening extends AsyncDisposable {
  readonly port: number
  /** Those who are connected. */
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

/** The end of a connection. Unlike `once`, an error before it is no failure: what is cut may be reset. */
export const closed = (connection: NodeJS.EventEmitter): Promise<void> =>
  new Promise(resolve => connection.once('close', () => resolve()))

/** A service without HTTP that sends back what it gets. */
export const echo = (): Promise<Listening> => listening(createServer(socket => socket.pipe(socket)))
