import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { after, before, suite, test, type TestContext } from 'node:test'
import { web, type Service } from '../../agent/support.ts'
import { AgentProcess, GatewayProcess, HOST } from './agent-support.ts'
import { isLongRun, memoryOf, percentile, reportFigures, sleep } from './measurements.ts'
import { until } from '../../support/until.ts'

const SESSIONS = isLongRun ? 5000 : 100
const PROCESSES = isLongRun ? 4 : 2
// A gateway that starts slowly is met by agents that wait up to 30 s before they try again.
const BACK_MS = isLongRun ? 60_000 : 240_000
const SETTLE_MS = isLongRun ? 10_000 : 1500
const LOOP_MS = 250
// What the library uses; the jitter is between 0 and this at first.
const BASE_MS = 500

/** One request to a tunnel by its name; resolves to the status, 0 when there was no answer. */
async function visit(port: number, host: string): Promise<number> {
  const asked = request({ host: HOST, port, headers: { host }, agent: false, timeout: 20_000 })
  asked.end()
  try {
    const [response] = await once(asked, 'response')
    response.resume()
    await once(response, 'end')
    return response.statusCode
  } catch {
    return 0
  }
}

/** Requests to one tunnel all the time, from its first answer on. */
class Honest implements AsyncDisposable {
  count = 0
  failed = 0
  readonly #running: Promise<void>
  #stopped = false

  constructor(port: number, host: string) {
    this.#running = this.#run(port, host)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #run(port: number, host: string): Promise<void> {
    await until(async () => this.#stopped || (await visit(port, host)) === 200, { withinMs: BACK_MS })
    while (!this.#stopped) {
      this.count++
      if ((await visit(port, host)) !== 200) this.failed++
      await sleep(10)
    }
  }
}

const publicNames = async (gateway: GatewayProcess): Promise<Set<string>> =>
  new Set((await gateway.all('tunnels')).map(({ id, public_url }) => `${id} ${public_url}`))

function startAgents(gateway: GatewayProcess, port: number): { list: AgentProcess[] } & AsyncDisposable {
  const names = Array.from({ length: SESSIONS }, (_, at) => `storm-${at}`)
  const list = Array.from({ length: PROCESSES }, (_, part) => {
    const own = names.filter((_name, at) => at % PROCESSES === part)
    const endpoints = own.map(domain => [{ proto: 'http' as const, domain, forwardTo: port }])
    return new AgentProcess({ agent: gateway.options, endpoints, atOnce: 25 })
  })
  const end = async () => void (await Promise.all(list.map(agent => agent[Symbol.asyncDispose]())))
  return { list, [Symbol.asyncDispose]: end }
}

interface Return {
  readonly times: readonly number[]
  readonly firstDelays: readonly number[]
}

/** Waits until every agent is notified that it is online again. */
async function returnOf(
  agents: readonly AgentProcess[],
  from: readonly number[],
  begun: number,
): Promise<Return> {
  const fresh = () => agents.flatMap(({ reports }, at) => reports.slice(from[at] ?? 0))
  const onlineCount = () => fresh().filter(({ is }) => is === 'online').length
  await until(() => onlineCount() >= SESSIONS, { what: 'all agents are online again', withinMs: BACK_MS })
  const times = fresh().flatMap(report => (report.is === 'online' ? [report.at - begun] : []))
  const firstDelays = fresh().flatMap(report => (report.is === 'lost' ? [report.retryInMs] : []))
  return { times: times.map(ms => Math.max(0, ms) / 1000), firstDelays }
}

/** Full jitter: the first delays are anywhere between nothing and the base, none more likely than another. */
function assertJitter(delays: readonly number[]): void {
  assert.equal(delays.length, SESSIONS)
  const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length
  assert.ok(
    Math.abs(mean - BASE_MS / 2) < BASE_MS / (isLongRun ? 10 : 6),
    `the mean of the first delays is ${mean} ms`,
  )
  // Of a hundred uniform delays these bounds fail once in a million runs.
  assert.ok(percentile(delays, 0.05) < BASE_MS / 4)
  assert.ok(percentile(delays, 0.95) > (BASE_MS * 3) / 4)
}

async function killAndReturn(
  context: TestContext,
  gateway: GatewayProcess,
  agents: AgentProcess[],
): Promise<void> {
  const known = await publicNames(gateway)
  const from = agents.map(({ reports }) => reports.length)
  const begun = Date.now()
  await gateway.kill()
  await gateway.restart()
  const down = (Date.now() - begun) / 1000
  await using honest = new Honest(gateway.process.bound.http?.port ?? 0, 'storm-0.adit.localhost')
  const { times, firstDelays } = await returnOf(agents, from, begun)
  const same = async () => (await publicNames(gateway)).symmetricDifference(known).size === 0
  await until(same, {
    what: 'every tunnel is back under its name',
    withinMs: Math.max(0, BACK_MS + begun - Date.now()),
  })
  const seconds = (Date.now() - begun) / 1000
  // Asked for the first time, so it is of the whole time since the start.
  const metrics = await gateway.metrics()
  const delay = (quantile: string) =>
    (metrics.get(`adit_eventloop_delay_seconds{quantile="${quantile}"}`) ?? NaN) * 1000
  await until(() => honest.count > 20)
  await honest.stop()
  reportFigures(context, {
    'gateway down s': down,
    '50 % signed in after s': percentile(times, 0.5),
    '99 % after s': percentile(times, 0.99),
    '100 % after s': Math.max(...times),
    'all tunnels back after s': seconds,
    'event loop p99 ms': delay('0.99'),
    'max ms': delay('1'),
    'honest requests': honest.count,
    'of them failed': honest.failed,
  })
  assert.ok(seconds <= BACK_MS / 1000)
  assertJitter(firstDelays)
  assert.ok(
    honest.failed <= honest.count / 1000,
    `${honest.failed} of ${honest.count} honest requests failed`,
  )
  if (isLongRun) assert.ok(delay('0.99') <= LOOP_MS, `the event loop was ${delay('0.99')} ms late`)
}

suite('a storm of agents', () => {
  let service: Service
  before(async () => (service = await web((_, response) => response.end('hello'))))
  after(() => service[Symbol.asyncDispose]())

  test(`${SESSIONS} come back when the gateway was killed, each with its name`, async context => {
    await using gateway = await GatewayProcess.start()
    const empty = memoryOf(gateway.pid)
    const begun = performance.now()
    await using agents = startAgents(gateway, service.port)
    await Promise.all(agents.list.map(agent => agent.next('ready')))
    const seconds = (performance.now() - begun) / 1000
    await sleep(SETTLE_MS)
    const held = agents.list.reduce((sum, { pid }) => sum + memoryOf(pid), 0)
    reportFigures(context, {
      sessions: SESSIONS,
      'signed in and bound after s': seconds,
      'kB of the gateway for each idle one': (memoryOf(gateway.pid) - empty) / SESSIONS,
      'kB of the agents for each': held / SESSIONS,
    })
    await killAndReturn(context, gateway, agents.list)
    await sleep(SETTLE_MS)
    reportFigures(context, { 'kB of the new gateway for each': (memoryOf(gateway.pid) - empty) / SESSIONS })
    assert.equal(
      await visit(gateway.process.bound.http?.port ?? 0, `storm-${SESSIONS - 1}.adit.localhost`),
      200,
    )
  })
})
