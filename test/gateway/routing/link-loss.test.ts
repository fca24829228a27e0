import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { DialError } from '#registry/agent-dialer.ts'
import { group, httpsEdge, route, startRouter, toBackend, visit } from './support.ts'
import { until } from '../../support/until.ts'

type Plan = Awaited<ReturnType<typeof startRouter>>
type Agent = Awaited<ReturnType<Plan['agent']>>

/** No test takes that long: what waits for it fails. */
const WAIT_MS = 60_000
const started = (waitMs = WAIT_MS) => startRouter({ info: { reconnect_wait: waitMs / 1000 } })
const HOST = 'shop.adit.localhost/'

const offline = ({ gateway }: Plan) =>
  until(() => gateway.directory.tunnels.size === 0, { what: 'the tunnels are gone' })

async function drop(plan: Plan, agent: Agent): Promise<void> {
  agent.drop()
  await offline(plan)
}

/** An agent with the endpoint of these tests. */
async function shop(plan: Plan): Promise<Agent> {
  const agent = await plan.agent()
  await agent.bind('https', { Domain: 'shop' })
  return agent
}

/** The next request is not answered: its connection to the agent breaks, and so do all others. */
function breakAtNext(agent: Agent): { readonly sent: string[] } {
  const sent: string[] = []
  agent.onProxied = stream =>
    stream.attach({
      data(bytes) {
        sent.push(bytes.toString())
        agent.drop()
      },
      end: () => undefined,
      closed: () => undefined,
    })
  return { sent }
}

suite('a request whose agent lost its connection', () => {
  for (const method of ['GET', 'POST'])
    test(`waits for it, with ${method}`, async () => {
      await using plan = await started()
      const agent = await shop(plan)
      await drop(plan, agent)
      const visiting = visit(plan.router, HOST, { method })
      await shop(plan)
      assert.equal((await visiting).status, 200)
    })

  test('waits no longer than the limit', async () => {
    await using plan = await started(200)
    const agent = await shop(plan)
    await drop(plan, agent)
    const late = await visit(plan.router, HOST)
    assert.equal(late.code, 'ERR_ADIT_90265')
  })

  test('does not wait for a name that was not online', async () => {
    await using plan = await started()
    const agent = await shop(plan)
    await drop(plan, agent)
    const begun = performance.now()
    assert.equal((await visit(plan.router, 'other.adit.localhost/')).code, 'ERR_ADIT_3200')
    assert.ok(performance.now() - begun < WAIT_MS / 2)
  })

  test('does not wait when the agent was stopped', async () => {
    await using plan = await started()
    const agent = await shop(plan)
    agent.session.close()
    await offline(plan)
    assert.equal((await visit(plan.router, HOST)).code, 'ERR_ADIT_3200')
  })

  test('passes the modules that the tunnel has when it is back', async () => {
    await using plan = await started()
    const agent = await shop(plan)
    await drop(plan, agent)
    const visiting = visit(plan.router, HOST)
    const back = await plan.agent()
    await back.bind('https', { Domain: 'shop', IPRestriction: { allow_cidrs: ['198.51.100.0/24'] } })
    assert.equal((await visiting).status, 403)
  })

  test('is sent again when it is idempotent, once', async () => {
    await using plan = await started()
    const agent = await shop(plan)
    const { sent } = breakAtNext(agent)
    const visiting = visit(plan.router, HOST)
    await offline(plan)
    assert.equal(sent.length, 1)
    const back = await plan.agent()
    const again = breakAtNext(back)
    await back.bind('https', { Domain: 'shop' })
    const { status, code, text } = await visiting
    assert.deepEqual([status, code], [502, 'ERR_ADIT_90306'])
    assert.match(text, /may have processed it, so it was not sent again/)
    assert.deepEqual([sent.length, again.sent.length], [1, 1])
  })

  test('gets the response of the second attempt', async () => {
    await using plan = await started()
    const agent = await shop(plan)
    breakAtNext(agent)
    const visiting = visit(plan.router, HOST)
    await offline(plan)
    await shop(plan)
    assert.equal((await visiting).status, 200)
  })

  test('is retried while another process whose tunnel is listed refuses it', async () => {
    let refusals = 3
    await using plan = await startRouter({ info: { reconnect_wait: WAIT_MS / 1000 } }, ({ sessions }) => ({
      dial: async (...args) => {
        if (refusals-- > 0) throw new DialError('offline', 'not yet')
        return sessions.dial(...args)
      },
      command: (...args) => sessions.command(...args),
      probe: id => sessions.probe(id),
      roundTrip: id => sessions.roundTrip(id),
    }))
    await shop(plan)
    assert.equal((await visit(plan.router, HOST, { method: 'POST' })).status, 200)
    assert.equal(refusals, -1)
  })

  test('is retried when another agent got the address while the process of the earlier one refused it', async () => {
    let refusals = 1
    let moved = async (): Promise<unknown> => undefined
    await using plan = await startRouter({ info: { reconnect_wait: WAIT_MS / 1000 } }, ({ sessions }) => ({
      dial: async (...args) => {
        if (refusals-- <= 0) return sessions.dial(...args)
        // A process that lagged behind learns both at once, before the other one responds.
        await moved()
        throw new DialError('offline', 'the agent has left')
      },
      command: (...args) => sessions.command(...args),
      probe: id => sessions.probe(id),
      roundTrip: id => sessions.roundTrip(id),
    }))
    const agent = await shop(plan)
    moved = async () => {
      await drop(plan, agent)
      await shop(plan)
    }
    const visiting = visit(plan.router, HOST, { method: 'POST' })
    const timedOut = pause(WAIT_MS / 4, undefined, { ref: false })
    assert.equal((await Promise.race([visiting, timedOut]))?.status, 200)
    assert.equal(refusals, -1)
  })

  test('is never sent again when it is not idempotent, and the error has the reason', async () => {
    await using plan = await started()
    const agent = await shop(plan)
    const { sent } = breakAtNext(agent)
    const { status, code } = await visit(plan.router, HOST, { method: 'POST' })
    assert.deepEqual([status, code, sent.length], [502, 'ERR_ADIT_90306', 1])
  })
})

suite('a request to an edge whose last tunnel was lost', () => {
  const edge = (plan: Plan): void => {
    const id = httpsEdge(plan.source, ['shop.example'])
    route(plan.source, id, '/', toBackend(group(plan.source, { app: 'a' })))
  }

  test('waits for a tunnel of its group', async () => {
    await using plan = await started()
    edge(plan)
    const agent = await plan.agent()
    await agent.label({ app: 'a' })
    assert.equal((await visit(plan.router, 'shop.example/')).status, 200)
    await drop(plan, agent)
    const visiting = visit(plan.router, 'shop.example/')
    const back = await plan.agent()
    await back.label({ app: 'other' })
    await back.label({ app: 'a' })
    assert.equal((await visiting).status, 200)
  })

  test('waits although its route changes the fields of responses', async () => {
    await using plan = await started()
    const response_headers = { enabled: true, add: { 'x-edge': 'shop' }, remove: [] }
    const fields = { ...toBackend(group(plan.source, { app: 'a' })), response_headers }
    route(plan.source, httpsEdge(plan.source, ['shop.example']), '/', fields)
    const agent = await plan.agent()
    await agent.label({ app: 'a' })
    assert.equal((await visit(plan.router, 'shop.example/')).status, 200)
    await drop(plan, agent)
    const visiting = visit(plan.router, 'shop.example/')
    const back = await plan.agent()
    await back.label({ app: 'a' })
    assert.equal((await visiting).status, 200)
  })

  test('does not wait for one of another group', async () => {
    await using plan = await started()
    edge(plan)
    const agent = await plan.agent()
    await agent.label({ app: 'other' })
    await drop(plan, agent)
    const begun = performance.now()
    assert.equal((await visit(plan.router, 'shop.example/')).status, 503)
    assert.ok(performance.now() - begun < WAIT_MS / 2)
  })
})
