import type { Agent } from '#agent/index.ts'
import type { CaptureEvent, CaptureStore } from '#agent/capture/capture-store.ts'
import type { EndpointOptions } from '#agent/options.ts'
import type { ConnectionEvent } from '#agent/events.ts'
import type { Tunnel } from '#agent/tunnel.ts'
import { endpointsOf } from '#cli/agent/plan.ts'
import type { NamedPlan, Plan } from '#cli/agent/tunnel-plan.ts'
import { Meter } from '#cli/agent/web/meter.ts'

/** A tunnel that is online, by name. */
export interface RunningTunnel {
  readonly name: string
  readonly tunnel: Tunnel
  readonly endpoint: EndpointOptions
  /** Its configuration. */
  readonly plan: Plan
  readonly connections: Meter
  readonly requests: Meter
  openConnections: number
}

/** A name that is already used by a running or starting tunnel. */
export class NameTakenError extends Error {
  override readonly name = 'NameTakenError'

  constructor(tunnel: string) {
    super(`tunnel "${tunnel}" already exists`)
  }
}

interface RunningTunnelsOptions {
  /** Undefined: no requests are captured. */
  readonly captures: CaptureStore | undefined
  /** The gateway is on this machine. */
  readonly isNear: boolean
}

/** The tunnels of an agent by name, with their metrics. */
export class RunningTunnels {
  readonly #options: RunningTunnelsOptions
  readonly #running = new Map<string, RunningTunnel>()
  readonly #byTunnel = new Map<Tunnel, RunningTunnel>()
  readonly #starting = new Set<string>()

  constructor(options: RunningTunnelsOptions) {
    this.#options = options
    options.captures?.subscribe(event => this.#captured(event))
  }

  list(): RunningTunnel[] {
    return [...this.#running.values()]
  }

  get(name: string): RunningTunnel | undefined {
    return this.#running.get(name)
  }

  /** Opens the endpoints of a tunnel one after the other, since the first one determines the host name. */
  async start(agent: Agent, { name, plan }: NamedPlan): Promise<RunningTunnel[]> {
    if (this.#running.has(name) || this.#starting.has(name)) throw new NameTakenError(name)
    this.#starting.add(name)
    const started: RunningTunnel[] = []
    try {
      for (const endpoint of endpointsOf(plan, this.#options.isNear)) {
        const host = URL.parse(started[0]?.tunnel.url ?? '')?.hostname
        const same = host === undefined ? endpoint : { ...endpoint, domain: host, url: undefined }
        const own = started.length === 0 ? name : `${name} (${endpoint.proto ?? ''})`
        started.push(await this.#open(agent, own, same, plan))
      }
      return started
    } catch (error) {
      await Promise.all(started.map(({ tunnel }) => tunnel.close()))
      throw error
    } finally {
      this.#starting.delete(name)
    }
  }

  connection({ tunnel, kind, durationMs }: ConnectionEvent): void {
    const running = this.#byTunnel.get(tunnel)
    if (running === undefined) return
    if (kind === 'opened') {
      running.connections.mark()
      running.openConnections++
    } else {
      running.connections.took(durationMs)
      running.openConnections--
    }
  }

  async #open(agent: Agent, name: string, endpoint: EndpointOptions, plan: Plan): Promise<RunningTunnel> {
    const { captures } = this.#options
    const isCaptured = plan.inspect !== false && endpoint.proto !== 'tcp' && endpoint.proto !== 'tls'
    const capture = captures && isCaptured ? { store: captures, tunnelName: name } : undefined
    const options = { ...endpoint, name, capture }
    const tunnel = await agent.listen(options)
    const running: RunningTunnel = {
      name,
      tunnel,
      endpoint: options,
      plan,
      connections: new Meter(),
      requests: new Meter(),
      openConnections: 0,
    }
    this.#running.set(name, running)
    this.#byTunnel.set(tunnel, running)
    void tunnel.closed.then(() => this.#forget(running))
    return running
  }

  #forget(running: RunningTunnel): void {
    this.#byTunnel.delete(running.tunnel)
    if (this.#running.get(running.name) === running) this.#running.delete(running.name)
  }

  #captured(event: CaptureEvent): void {
    if (event.kind === 'cleared') return
    const requests = this.#running.get(event.exchange.tunnelName)?.requests
    if (event.kind === 'began') requests?.mark()
    else if (event.kind === 'finished') requests?.took(event.exchange.durationMs ?? 0)
  }
}
