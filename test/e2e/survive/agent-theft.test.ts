import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { AgentError, type AgentStatus, connect } from '#agent/index.ts'
import { GatewayProcess } from './agent-support.ts'
import { numberIn, rawSignIn } from './agent-support-raw.ts'
import { isLongRun, reportFigures, sleep } from './measurements.ts'
import { until } from '../../support/until.ts'

const CLAIMS = 50
const TAKEN = 334
const ENDED_MS = isLongRun ? 30_000 : 120_000

for (const workers of [1, 2]) {
  suite(`at a gateway of ${workers} processes`, () => {
    let gateway: GatewayProcess
    let victimToken = ''
    let thiefToken = ''
    before(async () => {
      gateway = await GatewayProcess.start({ ADIT_WORKERS: String(workers) })
      victimToken = gateway.options.authtoken
      ;({ token: thiefToken } = await gateway.credential())
    })
    after(() => gateway[Symbol.asyncDispose]())
    const listed = async (id: string): Promise<boolean> =>
      (await gateway.all('tunnel_sessions')).some(session => session['id'] === id)

    test('the id of a session without its cookie is rejected', async () => {
      using victim = await rawSignIn(gateway, victimToken)
      const bound = await victim.bind('http', { Domain: 'robbed' })
      // Several times, so that every process is asked.
      for (let turn = 0; turn < 4 * workers; turn++) {
        const own = turn % 2 === 0
        using thief = await rawSignIn(gateway, own ? victimToken : thiefToken, { clientId: victim.clientId })
        assert.notEqual(thief.clientId, victim.clientId)
        const answer = await thief.bind('http', { Domain: 'robbed' })
        assert.equal(numberIn(answer.Error), TAKEN)
      }
      assert.ok(await listed(victim.clientId))
      // It still has its tunnel, on the connection it had.
      assert.equal((await victim.rebind(bound)).Id, bound.Id)
    })

    test('the cookie of another session, or under another credential, is rejected', async () => {
      using victim = await rawSignIn(gateway, victimToken)
      using other = await rawSignIn(gateway, victimToken)
      const { clientId } = victim
      const claims = [
        { token: victimToken, cookie: other.cookie },
        { token: thiefToken, cookie: victim.cookie },
        { token: thiefToken, cookie: `${victim.cookie.slice(0, -2)}xx` },
        { token: victimToken, cookie: victim.cookie.slice(0, -1) },
      ]
      for (const { token, cookie } of claims) {
        using thief = await rawSignIn(gateway, token, { clientId, cookie })
        assert.notEqual(thief.clientId, clientId)
      }
      assert.ok(await listed(clientId))
    })

    test('a bind response that is replayed under another credential is refused or creates another tunnel', async () => {
      using victim = await rawSignIn(gateway, victimToken)
      const bound = await victim.bind('http', { Domain: 'replayed' })
      for (let turn = 0; turn < 2 * workers; turn++) {
        using thief = await rawSignIn(gateway, thiefToken)
        assert.equal(numberIn((await thief.rebind(bound)).Error), TAKEN)
      }
      victim.drop()
      await until(async () => !(await listed(victim.clientId)), {
        what: 'the victim has gone',
      })
      // The name is free now, so any agent may bind it, but not as the tunnel of the victim.
      using thief = await rawSignIn(gateway, thiefToken)
      const again = await thief.rebind(bound)
      assert.equal(again.Error, '')
      assert.notEqual(again.Id, bound.Id)
    })

    test(`of two agents that bind a name at the same time one gets it, ${CLAIMS} times`, async context => {
      const tokens = [victimToken, victimToken, thiefToken]
      const agents = await Promise.all(
        // As many as it takes to be connected to every process.
        Array.from({ length: 3 * workers }, (_, at) =>
          connect({ ...gateway.options, authtoken: tokens[at % 3] ?? '' }),
        ),
      )
      let slowest = 0
      for (let round = 0; round < CLAIMS; round++) {
        const pair = [agents[round % agents.length], agents[(round + 1) % agents.length]]
        const begun = performance.now()
        const claimed = await Promise.allSettled(
          pair.map(async agent => agent?.listen({ proto: 'http', domain: `claim-${round}`, forwardTo: 1 })),
        )
        slowest = Math.max(slowest, performance.now() - begun)
        const winners = claimed.filter(({ status }) => status === 'fulfilled')
        const [loss] = claimed.flatMap(it => (it.status === 'rejected' ? [it.reason as unknown] : []))
        assert.equal(winners.length, 1)
        assert.ok(loss instanceof AgentError)
        assert.equal(loss.code, `ERR_ADIT_${TAKEN}`)
        assert.match(loss.message, /is already online/)
      }
      const names = (await gateway.all('tunnels'))
        .map(it => String(it['public_url']))
        .filter(url => url.includes('claim-'))
      reportFigures(context, { claims: CLAIMS, 'slowest ms': slowest })
      assert.equal(names.length, CLAIMS)
      assert.equal(new Set(names).size, CLAIMS)
      await Promise.all(agents.map(agent => agent.close()))
    })

    test('a deleted credential ends all its sessions in 5 s, and they do not reconnect', async context => {
      const { id, token } = await gateway.credential()
      const lost = new Map<number, AgentStatus>()
      const agents = await Promise.all(
        Array.from({ length: 6 * workers }, (_, at) =>
          connect({
            ...gateway.options,
            authtoken: token,
            retry: { baseMs: 20, capMs: 200 },
            onStatus: status => status.state === 'reconnecting' && lost.set(at, status),
          }),
        ),
      )
      await Promise.all(
        agents.map((agent, at) => agent.listen({ proto: 'http', domain: `deleted-${at}`, forwardTo: 1 })),
      )
      await using stays = await rawSignInKept(gateway, victimToken)
      const ids = new Set(agents.map(({ sessionId }) => sessionId))
      const left = async () =>
        (await gateway.all('tunnel_sessions')).filter(it => ids.has(it['id'] ?? '')).length
      assert.equal(await left(), agents.length)
      assert.equal((await gateway.api.delete(`/credentials/${id}`)).status, 204)
      const begun = performance.now()
      await until(async () => (await left()) === 0, {
        what: 'all sessions have ended',
        withinMs: ENDED_MS,
      })
      const took = performance.now() - begun
      const isOurs = (it: Record<string, string>): boolean => it['public_url']?.includes('deleted-') ?? false
      await until(async () => !(await gateway.all('tunnels')).some(isOurs), { what: 'no tunnel is left' })
      await until(
        async () =>
          [...lost.values()].every(({ error }) => error?.code === 'ERR_ADIT_107') &&
          lost.size === agents.length,
        { what: 'all were notified', withinMs: ENDED_MS },
      )
      await sleep(500)
      assert.equal(await left(), 0)
      assert.ok(await listed(stays.clientId))
      reportFigures(context, { sessions: agents.length, 'ended after ms': took })
      await Promise.all(agents.map(agent => agent.close()))
    })
  })
}

async function rawSignInKept(gateway: GatewayProcess, token: string) {
  const agent = await rawSignIn(gateway, token)
  return { clientId: agent.clientId, [Symbol.asyncDispose]: async () => agent.drop() }
}
