import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { type ApiRequest, ConnectionRequests } from '#api/api-request.ts'
import { malformedReply } from '#api/malformed.ts'
import { plainAddress } from '#base/addresses.ts'
import { acceptQueued, listenOn, type ListenOn, type SharesPorts } from '#base/listen-on.ts'
import type { Exchange, Reply } from '#http/exchange.ts'
import type { Http1ClientLimits } from '#http/http1-limits.ts'
import { type Served, serveHttp1 } from '#http/http1-server-connection.ts'

const limits: Partial<Http1ClientLimits> = {
  headMs: 20_000,
  /** A slow sender must not hold a connection forever. */
  requestMs: 60_000,
  /** The time for the whole request counts. */
  bodyIdleMs: 60_000,
  keepAliveMs: 72_000,
  lingerMs: 1000,
  drainMs: 0,
  /** How long a closing server waits for the first request of a connection. */
  drainNewMs: 1000,
  maxRequests: Infinity,
  headBytes: 16_384,
  lineBytes: 16_384,
}

/** `since`: when the request arrived, by `performance.now`. */
type Respond = (request: ApiRequest, since: number) => Promise<Reply>

/** The connections of the API on Adit's own HTTP/1 server. */
export class ApiConnections {
  readonly #respond: Respond
  readonly #server = this.#newServer(false)
  /** For the gateway. */
  readonly #linked = this.#newServer(true)
  readonly #open = new Set<Served>()

  constructor(respond: Respond) {
    this.#respond = respond
  }

  /** Starts to listen; resolves to its URL. */
  async listen(address: ListenOn, sharesPorts?: SharesPorts): Promise<string> {
    await listenOn(this.#server, address, sharesPorts)
    const { address: host, port, family } = this.#server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`
  }

  /** Also accepts requests of the gateway, at a Unix socket in a folder that only this user can open. */
  async listenToGateway(path: string): Promise<void> {
    this.#linked.listen(path)
    await once(this.#linked, 'listening')
  }

  /** Stops accepting, and closes each connection after its pending response. */
  async close(): Promise<void> {
    if (this.#server.listening) await acceptQueued(this.#server)
    // Only now: a connection without a request waits for one from here on.
    for (const served of this.#open) served.drain()
    const servers = [this.#server, this.#linked].filter(({ listening }) => listening)
    await Promise.all(
      servers.map(server => {
        const end = once(server, 'close')
        server.close()
        return end
      }),
    )
  }

  #newServer(isGateway: boolean): Server {
    // Half-open, because a client may finish sending before the response.
    return createServer({ allowHalfOpen: true, noDelay: true }, socket => this.#accept(socket, isGateway))
  }

  #accept(socket: Socket, isGateway: boolean): void {
    const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = socket
    const requests = new ConnectionRequests(isGateway)
    const served = serveHttp1(socket, {
      client: {
        ip: plainAddress(remoteAddress),
        port: remotePort,
        localIp: localAddress,
        localPort,
        scheme: 'http',
        serverName: undefined,
      },
      limits,
      own: { refuse: malformedReply },
      answer: (exchange: Exchange) => this.#respond(requests.of(exchange), exchange.context.begun),
    })
    this.#open.add(served)
    socket.once('close', () => this.#open.delete(served))
  }
}
