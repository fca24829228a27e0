import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Agent, type AgentOptions, type AgentStatus, connect } from '#agent/index.ts'
import { GatewayProcess } from './agent-support.ts'
import { type LossDirection, LossyRelay } from './agent-support-relay.ts'
import { isLongRun, reportFigures } from './measurements.ts'
import { until } from '../../support/until.ts'

// Heartbeats every 5 s, and 10 s of silence; a little more for the timers of a machine that has other work too.
const NOTICED_MS = isLongRun ? 15_000 + 1000 : 60_000
const GONE_MS = isLongRun ? 20_000 : 60_000
const ANSWER_MS = 10_000
const RETRY = { baseMs: 50, capMs: 200 }

/** The message of `adit` on a system that cannot replace a running program. */
const WINDOWS = 'the agent cannot restart itself on Windows'

/** When an agent changed its state. */
class Watch {
  readonly at = new Map<AgentStatus['state'], number>()
  readonly onStatus = ({ state }: AgentStatus): void => {
    if (!this.at.has(state)) this.at.set(state, performance.now())
  }

  /** Milliseconds until a state was reached. */
  async reached(state: AgentStatus['state'], since: number, withinMs: number): Promise<number> {
    await until(() => this.at.has(state), { what: `the agent is ${state}`, withinMs })
    return (this.at.get(state) ?? since) - since
  }
}

const disposable = (agent: Agent): Agent & AsyncDisposable =>
  Object.assign(agent, { [Symbol.asyncDispose]: () => agent.close() })

const signIn = async (options: AgentOptions): Promise<Agent & AsyncDisposable> =>
  disposable(await connect(options))

suite('a silent peer', { concurrency: true }, () => {
  let gateway: GatewayProcess
  let several: GatewayProcess
  before(async () => {
    const both = [GatewayProcess.start(), GatewayProcess.start({ ADIT_WORKERS: '2' })] as const
    ;[gateway, several] = await Promise.all(both)
  })
  after(async () => {
    await gateway[Symbol.asyncDispose]()
    await several[Symbol.asyncDispose]()
  })

  const isListed = async (id: string): Promise<boolean> =>
    (await gateway.all('tunnel_sessions')).some(session => session['id'] === id)

  for (const lost of ['both', 'to gateway', 'to agent'] satisfies LossDirection[]) {
    test(`is detected by both ends in 15 s when bytes are lost: ${lost}`, async context => {
      await using relay = await LossyRelay.start(gateway.agentPort)
      const watch = new Watch()
      const options = { ...gateway.options, server: relay.address, retry: RETRY }
      await using agent = await signIn({ ...options, onStatus: watch.onStatus })
      const domain = `half-${lost.replace(' ', '-')}`
      const { url, id } = await agent.listen({ proto: 'http', domain, forwardTo: 1 })
      watch.at.clear()
      relay.closed = true
      relay.blackhole(lost)
      const since = performance.now()
      const gone = until(async () => !(await isListed(agent.sessionId)), {
        what: 'the session is gone',
        withinMs: GONE_MS + 60_000,
      }).then(() => performance.now() - since)
      const noticed = await watch.reached('reconnecting', since, GONE_MS)
      const left = await gone
      watch.at.clear()
      relay.closed = false
      const back = performance.now()
      const named = async () =>
        (await gateway.all('tunnels')).some(it => it['id'] === id && it['public_url'] === url)
      await watch.reached('online', back, 120_000)
      const online = performance.now()
      await until(named, { what: 'it has its name again' })
      const renamed = performance.now() - online
      reportFigures(context, {
        lost,
        'agent noticed after ms': noticed,
        'gone from the API after ms': left,
        'name back after ms': renamed,
      })
      assert.ok(noticed <= NOTICED_MS, `the agent noticed after ${noticed} ms`)
      assert.ok(left <= GONE_MS, `the session was gone after ${left} ms`)
    })
  }

  test('does not keep a name from the same credential on a new connection', async context => {
    await using relay = await LossyRelay.start(gateway.agentPort)
    await using old = await signIn({ ...gateway.options, server: relay.address })
    const endpoint = { proto: 'http', domain: 'half-mine', forwardTo: 1 } as const
    const { url } = await old.listen(endpoint)
    relay.closed = true
    relay.blackhole('both')
    await using next = await signIn(gateway.options)
    const begun = performance.now()
    assert.equal((await next.listen(endpoint)).url, url)
    const took = performance.now() - begun
    reportFigures(context, { 'name taken over after ms': took })
    assert.ok(took < (isLongRun ? 5000 : 60_000))
    assert.equal((await gateway.all('tunnels')).filter(it => it['public_url'] === url).length, 1)
  })

  for (const workers of [1, 2]) {
    const at = (): GatewayProcess => (workers === 1 ? gateway : several)
    const where = `at a gateway of ${workers} processes`

    async function withAgent(options: AgentOptions, work: (path: string) => Promise<void>): Promise<void> {
      await using agent = await signIn({ ...at().options, ...options })
      await work(`/tunnel_sessions/${agent.sessionId}`)
    }

    test(`reports at once that it does not support a command, ${where}`, async () => {
      let ran = 0
      const options = { commands: { restart: () => void ran++ }, unsupported: { restart: WINDOWS } }
      await withAgent(options, async path => {
        const { status, body } = await at().api.post(`${path}/restart`)
        assert.equal(status, 400)
        assert.match(body.msg, /cannot restart itself on Windows/)
        assert.equal(ran, 0)
      })
    })

    test(`has its error message returned when a command failed, ${where}`, async () => {
      for (const reason of [
        'updates are off',
        'one is running already',
        'it waits for a restart',
        'there is none',
      ]) {
        const update = (): never => {
          throw new Error(reason)
        }
        await withAgent({ commands: { update } }, async path => {
          const { status, body } = await at().api.post(`${path}/update`)
          assert.ok(status >= 400 && status < 500, `the status is ${status}`)
          assert.ok(body.msg.includes(reason), body.msg)
        })
      }
    })

    for (const command of ['stop', 'restart', 'update'] as const) {
      test(`is waited for 10 s after the command ${command}, ${where}`, async context => {
        await withAgent({ commands: { [command]: () => new Promise<void>(() => undefined) } }, async path => {
          const begun = performance.now()
          const { status, body } = await at().api.post(`${path}/${command}`)
          const took = performance.now() - begun
          reportFigures(context, { command, 'answered after ms': took })
          assert.equal(status, 502)
          assert.equal(body.error_code, 'ERR_ADIT_810')
          // The API waits for the command, not for a multiple of it; how late it is depends on the machine.
          assert.ok(took > ANSWER_MS - 100 && took < (isLongRun ? 2 : 9) * ANSWER_MS, `it took ${took} ms`)
          // The agent is as it was.
          assert.equal((await at().api.get(path)).status, 200)
        })
      })
    }
  }
})
