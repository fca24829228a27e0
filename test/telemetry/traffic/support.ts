import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type Agent as TunnelAgent, connect } from '#agent/index.ts'
import { newId } from '#base/ids.ts'
import { Secret } from '#base/secrets.ts'
import { type HttpField, type TcpField, trafficFields } from '#contract/events/traffic-fields.ts'
import { type Gateway, startGateway } from '#gateway/gateway.ts'
import { LocalDirectory } from '#registry/local-directory.ts'
import type { GatewayMetrics } from '#telemetry/metrics.ts'
import { eventsOf, type LineEvent } from '#events/line-event.ts'
import { TrafficEvents, type TrafficBatch } from '#telemetry/traffic-events.ts'
import { LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'
import { testLog } from '../../support/secrets.ts'
import { localEgress } from '../../gateway/module-parts.ts'
import { route, toBackend } from '../../gateway/routing/support.ts'
import { info, MemorySource } from '../../gateway/agents/support.ts'
import { until } from '../../support/until.ts'

export const HOST = '127.0.0.1'
export const allHttp = Object.keys(trafficFields['http_request_complete.v0']) as HttpField[]
export const allTcp = Object.keys(trafficFields['tcp_connection_closed.v0']) as TcpField[]

// oxlint-disable-next-line typescript/no-explicit-any -- what is in it depends on what was asked for
export type EventObject = any

let authority: Promise<LocalAuthority> | undefined

interface FetchOptions {
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
  /** Sent in pieces without a declared length. */
  readonly chunks?: readonly string[]
  readonly agent?: Agent
}

export const accountId = 'ac_1'

const share = { sessions: 100, tunnels: 100, tcpPorts: 100, metadataKib: 100 }

/** A whole gateway on ports of its own, which publishes its traffic events to the test. */
export class TrafficWorld implements AsyncDisposable {
  readonly source = new MemorySource()
  readonly directory = new LocalDirectory()
  readonly events: LineEvent[] = []
  readonly traffic = new TrafficEvents(batch => {
    this.events.push(...batch.pages.flatMap(eventsOf))
    this.onBatch?.(batch)
    this.#came.resolve()
    this.#came = Promise.withResolvers()
  })
  onBatch: ((batch: TrafficBatch) => void) | undefined
  #came = Promise.withResolvers<void>()
  #gateway: Gateway | undefined
  readonly #services: Server[] = []
  readonly #agents: TunnelAgent[] = []

  static async start(): Promise<TrafficWorld> {
    authority ??= makeLocalRoot('test').then(root => LocalAuthority.open(root))
    const world = new TrafficWorld()
    const anyPort = { host: HOST, port: 0 }
    world.#gateway = await startGateway({
      info,
      addresses: { http: anyPort, https: anyPort, agent: anyPort, ssh: undefined },
      publicPorts: { http: undefined, https: undefined },
      limits: { credential: share, owner: share },
      source: world.source,
      directory: world.directory,
      authority: await authority,
      keys: { proofs: randomBytes(32), tickets: randomBytes(48), sshHost: new Secret('') },
      egress: localEgress,
      oauth: { applications: new Map(), githubUrl: 'https://github.com', gitlabUrl: 'https://gitlab.com' },
      userSessions: {
        signedIn: async () => ({ userId: newId('au'), sessionId: newId('as') }),
        active: () => undefined,
        ended: async () => undefined,
        claimCode: async () => 'first',
      },
      traffic: world.traffic,
      requests: { size: 10, write: undefined },
      log: testLog(),
    })
    world.traffic.subscribe({ accountId, http: allHttp, tcp: allTcp })
    return world
  }

  get metrics(): GatewayMetrics {
    if (this.#gateway === undefined) throw new Error('It is not started.')
    return this.#gateway.metrics
  }

  get httpsPort(): number {
    return this.#gateway?.bound.https?.port ?? 0
  }

  get httpPort(): number {
    return this.#gateway?.bound.http?.port ?? 0
  }

  async rootPem(): Promise<string> {
    return (await authority)?.rootPem ?? ''
  }

  /** An edge for a name, with one route to a backend. */
  edge(name: string, backend: string, modules: object = {}): void {
    const edge = this.source.put('https_edge', newId('edghts'), {
      hostports: [`${name}:443`],
      created_at: '2026-01-01T00:00:00Z',
    })
    route(this.source, edge, '/', { ...toBackend(backend), ...modules })
  }

  /** A service of this machine, by its port. */
  async service(handle: RequestListener): Promise<number> {
    const service = createServer(handle).listen(0, HOST)
    this.#services.push(service)
    await once(service, 'listening')
    return (service.address() as AddressInfo).port
  }

  /** One as a backend. */
  async static(handle: RequestListener): Promise<string> {
    const body = { address: `${HOST}:${await this.service(handle)}`, tls: { enabled: false } }
    return this.source.put('static_backend', newId('bkdst'), body)
  }

  async agent(): Promise<TunnelAgent> {
    const server = `${HOST}:${this.#gateway?.bound.agent?.port}`
    const authtoken = this.source.credential().token
    const agent = await connect({ server, authtoken, ca: await this.rootPem() })
    this.#agents.push(agent)
    return agent
  }

  /** Sends a request, and resolves to its event once it is over. */
  async eventOf(url: string, options: FetchOptions = {}): Promise<EventObject> {
    const slash = url.indexOf('/')
    const host = slash < 0 ? url : url.slice(0, slash)
    const { method = 'GET', headers = {}, chunks, agent = new Agent({ keepAlive: false }) } = options
    const asked = request({
      host: HOST,
      port: this.httpsPort,
      servername: host,
      rejectUnauthorized: false,
      agent,
      method,
      path: slash < 0 ? '/' : url.slice(slash),
      headers: { host, ...headers },
    })
    for (const chunk of chunks ?? []) asked.write(chunk)
    asked.end()
    const [response] = await once(asked, 'response')
    await once(response.resume(), 'end')
    return this.object(({ id }) => id.slice(3) === String(response.headers['adit-request-id']).slice(3))
  }

  /** The object of the first event that matches. */
  async object(fits: (event: LineEvent) => boolean): Promise<EventObject> {
    const look = () => this.events.find(fits)
    const { body } = await until(look, { what: `event: ${String(fits)}`, next: () => this.#came.promise })
    return JSON.parse(body).object
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const agent of this.#agents) await agent.close()
    await this.#gateway?.drain(0)
    for (const service of this.#services) {
      service.closeAllConnections()
      service.close()
    }
  }
}
