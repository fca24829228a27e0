import { createServer } from 'node:http'
import { startServer, type TestServer } from '../../../support/server.ts'
import { accessTo, Sdk } from './sdk.ts'
import { rootOf, visit, type Seen, type VisitOptions } from './visits.ts'
import { listening } from '../../../support/net.ts'

/** A request as the service behind the tunnel got it. */
interface Echo {
  readonly method: string
  readonly url: string
  readonly version: string
  readonly headers: Record<string, string>
  readonly body: string
}

/** A service that returns the requests it gets. */
export const echoServer = () =>
  createServer(async (request, response) => {
    let body = ''
    for await (const bytes of request.setEncoding('utf8')) body += String(bytes)
    const { method, url, httpVersion: version, headers } = request
    response.setHeader('content-type', 'application/json').setHeader('x-service', 'echo')
    response.end(JSON.stringify({ method, url, version, headers, body }))
  })

export const echoOf = ({ text }: Seen): Echo => JSON.parse(text) as Echo

/** A gateway, the SDK, a service, and clients that trust the gateway's root. */
export interface World extends AsyncDisposable {
  readonly server: TestServer
  readonly sdk: Sdk
  /** The port of the service. */
  readonly port: number
  readonly root: string
  readonly visit: (url: string, options?: VisitOptions) => Promise<Seen>
}

export async function openWorld(): Promise<World> {
  const server = await startServer()
  const sdk = new Sdk(accessTo(server))
  const service = await listening(echoServer())
  const root = rootOf(server.dataDir)
  return {
    server,
    sdk,
    root,
    port: service.port,
    visit: (url, options) => visit(url, { ca: root, ...options }),
    async [Symbol.asyncDispose]() {
      await sdk[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}
