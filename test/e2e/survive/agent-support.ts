import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentOptions } from '#agent/index.ts'
import { type Process, spawnServer } from '../../support/server.ts'
import type { AgentsJob, Report } from './agent-support-agents.ts'
import { freePorts } from '../../support/free-ports.ts'
import { until } from '../../support/until.ts'
import { newFolder } from '../../support/folder.ts'

export const HOST = '127.0.0.1'

/** A gateway in a process of its own, which can be killed and started again at the same place. */
export class GatewayProcess implements AsyncDisposable {
  readonly dataDir = newFolder()
  readonly #environment: Record<string, string>
  #process: Process | undefined

  private constructor(environment: Record<string, string>) {
    this.#environment = environment
  }

  static async start(environment: Record<string, string> = {}): Promise<GatewayProcess> {
    const [api, http, https, agent, ssh] = await freePorts(5)
    const gateway = new GatewayProcess({
      ADIT_LOG_LEVEL: 'error',
      ADIT_API_ADDR: `${HOST}:${api}`,
      ADIT_HTTP_ADDR: `${HOST}:${http}`,
      ADIT_HTTPS_ADDR: `${HOST}:${https}`,
      ADIT_AGENT_ADDR: `${HOST}:${agent}`,
      ADIT_SSH_ADDR: `${HOST}:${ssh}`,
      ...environment,
    })
    await gateway.restart()
    return gateway
  }

  /** Starts it again. */
  async restart(): Promise<void> {
    this.#process = await spawnServer(this.dataDir, this.#environment)
  }

  async kill(): Promise<void> {
    await this.process.end('SIGKILL')
  }

  get process(): Process {
    if (this.#process === undefined) throw new Error('it was not started')
    return this.#process
  }

  get api(): Process['api'] {
    return this.process.api
  }

  get pid(): number {
    return this.process.child.pid ?? 0
  }

  get agentPort(): number {
    return this.process.bound.agent?.port ?? 0
  }

  get rootPem(): string {
    return readFileSync(join(this.dataDir, 'ca.pem'), 'utf8')
  }

  /** What an agent needs to sign in here. */
  get options(): AgentOptions & { readonly server: string; readonly authtoken: string; readonly ca: string } {
    return {
      server: `${HOST}:${this.agentPort}`,
      authtoken: readFileSync(join(this.dataDir, 'authtoken'), 'utf8').trim(),
      ca: join(this.dataDir, 'ca.pem'),
    }
  }

  /** Another credential. */
  async credential(body: object = {}): Promise<{ readonly id: string; readonly token: string }> {
    const { status, body: made } = await this.api.post('/credentials', body)
    if (status !== 201) throw new Error(`no credential was made: ${status}`)
    return made
  }

  /** All of a list, page by page. */
  async all<Item = Record<string, string>>(
    list: 'tunnel_sessions' | 'tunnels' | 'endpoints',
  ): Promise<Item[]> {
    const found: Item[] = []
    for (let next: string | null = `/${list}?limit=100`; next !== null;) {
      const { status, body } = await this.api.get(next)
      if (status !== 200) throw new Error(`${next} answered ${status}`)
      found.push(...body[list])
      next = body.next_page_uri
    }
    return found
  }

  /** The samples at /metrics, by name and labels. */
  async metrics(): Promise<ReadonlyMap<string, number>> {
    const response = await fetch(`${this.api.url}/metrics`, {
      headers: { authorization: `Bearer ${this.api.token}` },
    })
    const lines = (await response.text()).split('\n').filter(line => line !== '' && !line.startsWith('#'))
    return new Map(
      lines.map(line => {
        const space = line.lastIndexOf(' ')
        return [line.slice(0, space), Number(line.slice(space + 1))]
      }),
    )
  }

  /** Open files and sockets. */
  get files(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { exitCode, signalCode } = this.process.child
    if (exitCode === null && signalCode === null) await this.kill()
    rmSync(this.dataDir, { recursive: true, force: true })
  }
}

/** A thousand sessions are opened before the first report. */
const REPORT_MS = 300_000

/** Agents in a process of their own; see the program beside this file. */
export class AgentProcess implements AsyncDisposable {
  readonly child: ChildProcess
  readonly reports: Report[] = []
  stderr = ''

  /** In a network namespace of its own where one is named. */
  constructor(order: AgentsJob, namespace?: string) {
    const program = join(import.meta.dirname, 'agent-support-agents.ts')
    const enter = { execPath: 'ip', execArgv: ['netns', 'exec', namespace ?? '', process.execPath] }
    this.child = fork(program, [], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      ...(namespace !== undefined && enter),
    })
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    this.child.on('message', (report: Report) => this.reports.push(report))
    this.child.send(order)
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  count(is: Report['is'], from = 0): number {
    return this.reports.slice(from).filter(report => report.is === is).length
  }

  /** The first report of a kind after `from` others. */
  async next<Is extends Report['is']>(is: Is, from = 0): Promise<Report & { is: Is }> {
    const look = () => {
      if (!this.alive) throw new Error(`the agents ended: ${this.child.exitCode ?? this.child.signalCode}`)
      return this.reports.slice(from).find((report): report is Report & { is: Is } => report.is === is)
    }
    return until(look, { what: `a report of kind ${is}`, withinMs: REPORT_MS })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.alive) return
    const exited = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await exited
  }
}
