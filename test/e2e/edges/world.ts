import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { Agent, request } from 'node:https'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import { type Agent as TunnelAgent, type AgentOptions, connect } from '#agent/index.ts'
import { optionsFor } from '../../agent/support.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { assertNoSecretInPage } from '../../support/secrets.ts'

type Fields = Record<string, unknown>

interface FetchOptions {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
  /** Keeps its connections; a new one for each request unless given. */
  readonly agent?: Agent
  /** The name in the handshake, when it is not the host. */
  readonly serverName?: string
}

export interface EdgeResponse {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
  /** The gateway's own code, where it answered itself. */
  readonly code: string | undefined
  readonly requestId: string
}

/** A server with edges, and clients that connect over TLS. */
export class World implements AsyncDisposable {
  readonly server: TestServer
  readonly ca: Buffer
  /** Reading the authorities anew takes as long as a handshake. */
  readonly #trust: SecureContext
  readonly #services: Server[] = []
  readonly #agents: TunnelAgent[] = []

  constructor(server: TestServer) {
    this.server = server
    this.ca = readFileSync(join(server.dataDir, 'ca.pem'))
    this.#trust = createSecureContext({ ca: this.ca })
  }

  static async start(settings: Record<string, string> = {}): Promise<World> {
    return new World(await startServer({ egress_allow: '127.0.0.0/8,::1/128', ...settings }))
  }

  /** Creates a resource; a rejection fails the test. */
  async make(path: string, body: Fields = {}): Promise<{ readonly id: string } & Record<string, unknown>> {
    const answer = await this.server.api.post(path, body)
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  async change(path: string, body: Fields): Promise<void> {
    const answer = await this.server.api.patch(path, body)
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }

  /** An HTTPS edge with these names, which are reserved for it. */
  async edge(names: readonly string[], fields: Fields = {}): Promise<string> {
    for (const domain of names) await this.make('/reserved_domains', { domain })
    return (await this.make('/edges/https', { hostports: names.map(name => `${name}:443`), ...fields })).id
  }

  async route(
    edge: string,
    match: string,
    backend: string | undefined,
    modules: Fields = {},
  ): Promise<string> {
    const to = backend === undefined ? {} : { backend: { backend_id: backend } }
    const body = { match_type: 'path_prefix', match, ...to, ...modules }
    return (await this.make(`/edges/https/${edge}/routes`, body)).id
  }

  /** A backend with a fixed response. */
  async fixedResponse(body: string, status_code = 200): Promise<string> {
    return (await this.make('/backends/http_response', { body, status_code })).id
  }

  /** A service on this machine. */
  async service(handle: RequestListener): Promise<number> {
    const service = createServer(handle).listen(0, '127.0.0.1')
    this.#services.push(service)
    await once(service, 'listening')
    return (service.address() as AddressInfo).port
  }

  /** A service of this machine as a backend. */
  async static(handle: RequestListener): Promise<string> {
    return (await this.make('/backends/static', { address: `127.0.0.1:${await this.service(handle)}` })).id
  }

  /** An agent that is connected. */
  async agent(options: AgentOptions = {}): Promise<TunnelAgent> {
    const agent = await connect({ ...optionsFor(this.server), ...options })
    this.#agents.push(agent)
    return agent
  }

  ask(url: string, options: FetchOptions = {}): Promise<EdgeResponse> {
    const slash = url.indexOf('/')
    const host = slash < 0 ? url : url.slice(0, slash)
    const { method = 'GET', headers = {}, body, agent, serverName = host } = options
    const { promise, resolve, reject } = Promise.withResolvers<EdgeResponse>()
    const asked = request({
      host: '127.0.0.1',
      port: this.server.bound.https?.port,
      servername: serverName,
      ca: this.ca,
      // A name that nothing answers for has no certificate.
      rejectUnauthorized: false,
      // A name of its own or none, so that no connection is used for another.
      agent: agent ?? new Agent({ keepAlive: false, secureContext: this.#trust }),
      method,
      path: slash < 0 ? '/' : url.slice(slash),
      headers: { host, ...headers },
    })
    asked.on('error', reject)
    asked.on('response', response => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('error', reject).on('end', () => {
        const { headers: got, statusCode: status = 0 } = response
        const code = got['adit-error-code'] as string | undefined
        resolve({ status, headers: got, text, code, requestId: String(got['adit-request-id']) })
      })
    })
    asked.end(body)
    return promise.then(got => {
      assertNoSecretInPage(got.headers, got.text)
      return got
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const agent of this.#agents) await agent.close()
    await this.server[Symbol.asyncDispose]()
    for (const service of this.#services) {
      service.closeAllConnections()
      service.close()
    }
  }
}
