import { setTimeout as delay } from 'node:timers/promises'
import { AgentError } from '#agent/agent-error.ts'
import type { CaptureStore } from '#agent/capture/capture-store.ts'
import { connect, type Agent } from '#agent/index.ts'
import type { AgentOptions } from '#agent/options.ts'
import type { AgentStatus } from '#agent/events.ts'
import type { Tunnel } from '#agent/tunnel.ts'
import { upstreamProblem } from '#agent/upstream-problem.ts'
import { ownArguments } from '#base/own-program.ts'
import { isLocal, type AgentSettings } from '#cli/agent/agent-settings.ts'
import { commandError, isAuthFailure, noToken } from '#cli/agent/failures.ts'
import { RunningTunnels } from '#cli/agent/running-tunnels.ts'
import type { NamedPlan, Plan } from '#cli/agent/tunnel-plan.ts'
import { Updater } from '#cli/agent/update.ts'
import { viewFor } from '#cli/agent/view-for.ts'
import type { AgentView } from '#cli/agent/view.ts'
import { captureStore, startInspector } from '#cli/agent/web/inspector.ts'
import type { WebServer } from '#cli/agent/web/web-server.ts'
import { exitCodes } from '#cli/failure.ts'

/** How long closing tunnels may take before the program exits anyway. */
const CLOSE_MS = 5000
/** Time for the response to a command before the connection is closed. */
const ANSWER_MS = 100

type Ending = { readonly exitCode: number } | 'restart'

/** Keeps tunnels online until the user, the gateway or an error stops it; returns the exit code. */
export async function runAgent(
  settings: AgentSettings,
  plans: readonly NamedPlan[],
  notes: readonly string[] = [],
): Promise<number> {
  if (settings.authtoken === undefined) throw noToken(settings)
  const run = new Run(settings)
  try {
    const ending = await run.untilEnd(plans, notes)
    if (ending !== 'restart') return ending.exitCode
  } catch (error) {
    if (!(error instanceof AgentError)) throw error
    run.failed(error)
    throw commandError(error)
  } finally {
    await run.close()
  }
  return replaceProcess()
}

class Run {
  readonly #settings: AgentSettings
  readonly #view: AgentView
  readonly #updater: Updater
  readonly #stop = new AbortController()
  readonly #ending = Promise.withResolvers<Ending>()
  readonly #captures: CaptureStore | undefined
  readonly #tunnels: RunningTunnels
  readonly #signedIn = Promise.withResolvers<Agent>()
  readonly #opened = Promise.withResolvers<void>()
  #status: AgentStatus = { state: 'connecting' }
  #agent: Agent | undefined
  #web: WebServer | undefined

  constructor(settings: AgentSettings) {
    this.#settings = settings
    this.#view = viewFor(
      settings,
      () => this.#agent?.latencyMs,
      () => this.#ending.resolve({ exitCode: 0 }),
    )
    this.#captures = captureStore(settings)
    const isNear = isLocal(settings.server.value)
    this.#tunnels = new RunningTunnels({ captures: this.#captures, isNear })
    // A failed connection ends the run, whether or not the local API waits for it.
    this.#signedIn.promise.catch(() => undefined)
    this.#updater = new Updater(settings, (level, message) => this.#view.note(level, message))
  }

  async untilEnd(plans: readonly NamedPlan[], notes: readonly string[]): Promise<Ending> {
    for (const note of notes) this.#view.note('info', note)
    this.#onSignal('SIGINT', exitCodes.interrupted)
    this.#onSignal('SIGTERM', 0)
    this.#onSignal('SIGHUP', 0)
    for (const { plan } of plans) void this.#probe(plan)
    this.#open(plans).catch((error: unknown) => this.#ending.reject(error))
    return this.#ending.promise
  }

  failed(error: AgentError): void {
    this.#view.failed(error)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#web?.close()
    await Promise.race([this.#agent?.close(), delay(CLOSE_MS, undefined, { ref: false })])
    this.#view.close()
  }

  #onSignal(signal: NodeJS.Signals, exitCode: number): void {
    process.once(signal, () => {
      this.#ending.resolve({ exitCode })
      // A second signal exits at once.
      process.once(signal, () => {
        this.#view.close()
        process.exit(exitCode)
      })
    })
  }

  async #open(plans: readonly NamedPlan[]): Promise<void> {
    await this.#startWeb()
    const agent = await connect(this.#options())
    this.#agent = agent
    this.#signedIn.resolve(agent)
    const opened = await Promise.all(plans.map(plan => this.#tunnels.start(agent, plan)))
    const tunnels = opened.flat().map(({ tunnel }) => tunnel)
    this.#opened.resolve()
    this.#view.opened(tunnels)
    for (const tunnel of tunnels) void this.#watch(agent, tunnel)
  }

  async #startWeb(): Promise<void> {
    this.#web = await startInspector(this.#settings, {
      tunnels: this.#tunnels,
      captures: this.#captures,
      agent: this.#signedIn.promise,
      opened: this.#opened.promise,
      started: running => this.#view.opened(running.map(({ tunnel }) => tunnel)),
      status: () => this.#agent?.status ?? this.#status,
    })
    if (this.#web) this.#view.inspector(`http://${this.#web.address}`)
  }

  #options(): AgentOptions {
    const { server, authtoken, ca, ca_only: caOnly, proxy_url: proxy, metadata, inspect } = this.#settings
    const lists = inspect === undefined ? this.#view.isTerminal : inspect.value
    return {
      server: server.value,
      authtoken: authtoken?.value,
      ca: ca?.value,
      caOnly: caOnly?.value,
      proxy: proxy?.value,
      metadata: metadata?.value,
      signal: this.#stop.signal,
      onStatus: status => {
        if (status.error && isAuthFailure(status.error)) this.#ending.reject(status.error)
        this.#status = status
        this.#view.status(status)
      },
      onConnection: event => {
        this.#tunnels.connection(event)
        this.#view.connection(event)
      },
      // Inspecting every request costs as much as forwarding it.
      onRequest: lists ? event => this.#view.request(event) : undefined,
      commands: {
        stop: () => this.#endSoon({ exitCode: 0 }, 'stopped by the gateway'),
        restart: () => this.#endSoon('restart', 'restarted by the gateway'),
        update: request => this.#updater.update(request),
      },
      unsupported: { restart: restartExcuse() },
    }
  }

  /** A missing service is reported at once, not with the first request. */
  async #probe(plan: Plan): Promise<void> {
    const problem = await upstreamProblem(plan)
    if (problem !== undefined && !this.#stop.signal.aborted) this.#view.note('warn', problem)
  }

  #endSoon(ending: Ending, reason: string): void {
    this.#view.note('info', reason)
    setTimeout(() => this.#ending.resolve(ending), ANSWER_MS)
  }

  /** The gateway may close a tunnel; when none is left the program exits. */
  async #watch(agent: Agent, tunnel: Tunnel): Promise<void> {
    const error = await tunnel.closed
    if (error === undefined) return
    this.#view.note('error', `${tunnel.url || 'the tunnel'} was closed: ${error.message}`)
    if (agent.tunnels.size === 0) this.#ending.reject(error)
  }
}

/** Why this agent cannot restart; empty when it can. */
const restartExcuse = (): string =>
  process.platform === 'win32' ? 'an agent on Windows cannot replace its process' : ''

/**
 * Replaces the process image: same process id, terminal and supervisor, with the currently installed program. Returns
 * only when that fails.
 */
function replaceProcess(): number {
  process.execve?.(process.execPath, [process.execPath, ...ownArguments()], process.env)
  return 1
}
