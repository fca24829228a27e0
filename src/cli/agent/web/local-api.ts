import type { Agent } from '#agent/index.ts'
import { AgentError } from '#agent/agent-error.ts'
import type { CaptureStore } from '#agent/capture/capture-store.ts'
import type { AgentStatus } from '#agent/events.ts'
import { NameTakenError, type RunningTunnel, type RunningTunnels } from '#cli/agent/running-tunnels.ts'
import type { NamedPlan } from '#cli/agent/tunnel-plan.ts'
import { ApiFailure, notReady } from '#cli/agent/web/api-failure.ts'
import { readEndpointBody } from '#cli/agent/web/endpoint-body.ts'
import { gatewayReason } from '#cli/agent/web/gateway-reason.ts'
import { readReplayBody } from '#cli/agent/web/replay-body.ts'
import { detailJson, requestJson } from '#cli/agent/web/request-json.ts'
import { readTunnelBody } from '#cli/agent/web/tunnel-body.ts'
import { endpointJson, tunnelJson } from '#cli/agent/web/tunnel-json.ts'

/** A start gets a response within the 4 seconds that wrappers wait. */
const READY_MS = 3000
/** Scripts read the list once, as soon as the API responds: it waits for tunnels that are being opened. */
const OPENING_MS = 1000
const DEFAULT_LIMIT = 100

export interface LocalApiOptions {
  readonly tunnels: RunningTunnels
  readonly captures: CaptureStore
  /** Resolves when the agent has signed in. */
  readonly agent: Promise<Agent>
  /** Resolves when the tunnels that the agent was started with are open. */
  readonly opened: Promise<void>
  /** Called with the tunnels that a request has started. */
  readonly started: (running: readonly RunningTunnel[]) => void
  readonly status: () => AgentStatus
  readonly version: string
}

interface ApiCall {
  readonly method: string
  /** Decoded, without `/api`. */
  readonly segments: readonly string[]
  readonly query: URLSearchParams
  readonly body: () => Promise<unknown>
}

interface ApiResult {
  readonly status: number
  /** Undefined: no body. */
  readonly body?: object
}

type Handler = (call: ApiCall, name: string) => Promise<ApiResult> | ApiResult
type Handlers = Readonly<Record<string, Handler>>

const NONE: ApiResult = { status: 204 }

const requestIdOf = (head: Buffer): string | undefined =>
  /^adit-request-id: *([!-~]+)\r$/im.exec(head.toString('latin1'))?.[1]

/** The JSON API of the agent that programs on the same machine use. */
export class LocalApi {
  readonly #options: LocalApiOptions
  readonly #routes: Readonly<Record<string, Handlers>>

  constructor(options: LocalApiOptions) {
    this.#options = options
    this.#routes = {
      '': { GET: () => ({ status: 200, body: root }) },
      status: { GET: () => ({ status: 200, body: this.#status() }) },
      tunnels: {
        GET: async () => ({
          status: 200,
          body: { tunnels: (await this.#list()).map(tunnelJson), uri: '/api/tunnels' },
        }),
        POST: async call => this.#created(readTunnelBody(await call.body()), tunnelJson),
      },
      'tunnels/*': {
        GET: (_, name) => ({ status: 200, body: tunnelJson(this.#find(name)) }),
        DELETE: (_, name) => this.#stop(name),
      },
      endpoints: {
        GET: async () => ({
          status: 200,
          body: { endpoints: (await this.#list()).map(endpointJson), uri: '/api/endpoints' },
        }),
        POST: async call => this.#created(readEndpointBody(await call.body()), endpointJson),
      },
      'endpoints/*': {
        GET: (_, name) => ({ status: 200, body: endpointJson(this.#find(name)) }),
        PUT: (call, name) => this.#replace(call, name),
        DELETE: (_, name) => this.#stop(name),
      },
      'requests/http': {
        GET: call => ({ status: 200, body: this.#requests(call) }),
        POST: call => this.#replay(call),
        DELETE: () => {
          options.captures.clear()
          return NONE
        },
      },
      'gateway/requests/*': {
        GET: async (_, id) => ({ status: 200, body: await this.#reason(id) }),
      },
      'requests/http/*': { GET: (_, id) => ({ status: 200, body: detailJson(this.#exchange(id)) }) },
    }
  }

  async handle(call: ApiCall): Promise<ApiResult> {
    const path = call.segments.join('/')
    const parent = [...call.segments.slice(0, -1), '*'].join('/')
    // A name may be that of a fixed path only after its parent.
    const handlers = Object.hasOwn(this.#routes, path) ? this.#routes[path] : this.#routes[parent]
    if (handlers === undefined)
      throw new ApiFailure('not_found', `there is no resource at /api/${path.slice(0, 200)}`)
    const handler = Object.hasOwn(handlers, call.method) ? handlers[call.method] : undefined
    if (handler) return handler(call, call.segments.at(-1) ?? '')
    const allow = Object.keys(handlers).join(', ')
    throw new ApiFailure('method', `the methods are ${allow}`, { allow })
  }

  /** Only for captured requests, because every user of this machine can ask. */
  #reason(requestId: string): Promise<object> {
    const isCaptured = this.#options.captures
      .list()
      .some(exchange => requestIdOf(exchange.request.head) === requestId)
    if (!isCaptured) throw new ApiFailure('not_found', 'no captured request has this id')
    return gatewayReason(requestId, process.env)
  }

  #status(): object {
    const { state, region = '', latencyMs } = this.#options.status()
    const legs = state === 'online' ? [{ region, latency: `${Math.round(latencyMs ?? 0)}ms` }] : []
    return {
      status: state,
      agent_version: this.#options.version,
      session: { legs },
      uri: '/api/status',
    }
  }

  async #list(): Promise<RunningTunnel[]> {
    await within(OPENING_MS, this.#options.opened)
    return this.#options.tunnels.list()
  }

  #find(name: string): RunningTunnel {
    const running = this.#options.tunnels.get(name)
    if (running) return running
    throw new ApiFailure('not_found', `tunnel "${name.slice(0, 200)}" is not running`)
  }

  async #stop(name: string): Promise<ApiResult> {
    await this.#find(name).tunnel.close()
    return NONE
  }

  async #created(plan: NamedPlan, show: (running: RunningTunnel) => object): Promise<ApiResult> {
    return { status: 201, body: show(await this.#start(plan)) }
  }

  async #replace(call: ApiCall, name: string): Promise<ApiResult> {
    const plan = readEndpointBody(await call.body(), name)
    const before = this.#options.tunnels.get(name)
    await before?.tunnel.close()
    try {
      return { status: before ? 200 : 201, body: endpointJson(await this.#start(plan)) }
    } catch (error) {
      // An endpoint that cannot be changed continues unchanged.
      if (before) await this.#start({ name, plan: before.plan }).catch(() => undefined)
      throw error
    }
  }

  async #start(plan: NamedPlan): Promise<RunningTunnel> {
    const { agent, tunnels } = this.#options
    const ready = await within(READY_MS, agent)
    if (ready === undefined) throw notReady()
    const started = tunnels.start(ready, plan)
    try {
      const running = await within(READY_MS, started)
      if (running?.[0]) {
        this.#options.started(running)
        return running[0]
      }
    } catch (error) {
      throw startFailure(error)
    }
    // The caller repeats the request, so what opens later must not have its name.
    void started.then(late => late.map(({ tunnel }) => tunnel.close())).catch(() => undefined)
    throw notReady()
  }

  #requests({ query }: ApiCall): object {
    const limit = limitOf(query.get('limit'))
    const name = query.get('tunnel_name') ?? ''
    const all = this.#options.captures.list()
    const chosen = name === '' ? all : all.filter(({ tunnelName }) => tunnelName === name)
    return { uri: '/api/requests/http', requests: chosen.slice(0, limit).map(requestJson) }
  }

  #exchange(id: string) {
    const exchange = this.#options.captures.get(id)
    if (exchange) return exchange
    throw new ApiFailure('not_found', `there is no captured request "${id.slice(0, 100)}"`)
  }

  async #replay(call: ApiCall): Promise<ApiResult> {
    const { id, tunnelName, edited } = readReplayBody(await call.body())
    const exchange = this.#exchange(id)
    if (edited === undefined && exchange.request.isTruncated)
      throw new ApiFailure(
        'bad_request',
        'only a part of this request was kept: its body is too long to replay',
      )
    const { tunnel } = this.#find(tunnelName ?? exchange.tunnelName)
    try {
      await tunnel.replay(edited ?? exchange.request.raw, id)
    } catch (error) {
      throw error instanceof AgentError ? new ApiFailure('bad_request', error.message) : error
    }
    return NONE
  }
}

const root = {
  uri: '/api',
  endpoints_uri: '/api/endpoints',
  requests_uri: '/api/requests/http',
  status_uri: '/api/status',
  tunnels_uri: '/api/tunnels',
}

function limitOf(text: string | null): number {
  if (text === null || text === '') return DEFAULT_LIMIT
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new ApiFailure('bad_request', 'limit: must be a whole number')
}

/** The result of a promise, or undefined when it takes longer. */
async function within<Value>(milliseconds: number, work: Promise<Value>): Promise<Value | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), milliseconds)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Wrappers look for codes in the form of the hosted service. */
function startFailure(error: unknown): ApiFailure {
  if (error instanceof NameTakenError) return new ApiFailure('bad_tunnel', error.message)
  if (!(error instanceof AgentError)) throw error
  const code = error.code?.replace(/^ERR_ADIT_/, 'ERR_NGROK_')
  return new ApiFailure(
    'start_failed',
    code === undefined ? error.message : `${error.message}\r\n\r\n${code}\r\n`,
  )
}
