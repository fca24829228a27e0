import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { LocalDirectory } from '#registry/local-directory.ts'
import { RecentNames } from '#gateway/routing/recent-names.ts'
import { tunnelRecord } from '../../support/records.ts'
import { startRouter, visit } from './support.ts'
import { until } from '../../support/until.ts'

const offline = { status: 404, code: 'ERR_ADIT_3200' }
const expected = { status: 503, code: 'ERR_ADIT_90265' }

suite('a name whose agent lost its connection', () => {
  test('answers 503 until the agent is back, in both schemes and below a wildcard', async () => {
    await using plan = await startRouter()
    plan.source.put('reserved_domain', 'rd_1', { domain: '*.team.example', owner_id: '' })
    const agent = await plan.agent()
    await agent.bind('https', { Domain: 'shop' })
    await agent.bind('https', { Domain: '*.team.example' })
    agent.drop()
    await until(() => plan.gateway.directory.tunnels.size === 0, { what: 'the tunnels are gone' })
    assert.partialDeepStrictEqual(await visit(plan.router, 'shop.adit.localhost/'), expected)
    assert.partialDeepStrictEqual(
      await visit(plan.router, 'shop.adit.localhost/', { scheme: 'http' }),
      expected,
    )
    assert.partialDeepStrictEqual(await visit(plan.router, 'a.team.example/'), expected)
    assert.partialDeepStrictEqual(await visit(plan.router, 'other.adit.localhost/'), offline)
    const other = await plan.agent()
    assert.equal((await other.bind('https', { Domain: 'shop' })).Error, '')
    assert.equal((await visit(plan.router, 'shop.adit.localhost/')).status, 200)
  })

  test('answers 404 when the agent has closed the tunnel, or has disconnected cleanly', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    const { Id } = await agent.bind('https', { Domain: 'shop' })
    await agent.bind('https', { Domain: 'other' })
    await agent.unbind(Id)
    assert.partialDeepStrictEqual(await visit(plan.router, 'shop.adit.localhost/'), offline)
    agent.session.close()
    await until(() => plan.gateway.directory.tunnels.size === 0, { what: 'the tunnels are gone' })
    assert.partialDeepStrictEqual(await visit(plan.router, 'other.adit.localhost/'), offline)
  })

  test('answers 404 when its credential was deleted', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    await agent.bind('https', { Domain: 'shop' })
    const [session] = plan.gateway.directory.sessions.values()
    plan.source.remove(session?.credentialId ?? '')
    await until(() => plan.gateway.directory.tunnels.size === 0, { what: 'the tunnels are gone' })
    assert.partialDeepStrictEqual(await visit(plan.router, 'shop.adit.localhost/'), offline)
  })
})

suite('the names that are expected', () => {
  const named = (host: string, ownerId: string) =>
    tunnelRecord({ id: `tn_${host}`, sessionId: `ts_${host}`, ownerId, address: { scheme: 'https', host } })

  async function lose(directory: LocalDirectory, host: string, ownerId = 'usr_1'): Promise<void> {
    await directory.addTunnel(named(host, ownerId))
    await directory.removeSession(`ts_${host}`, 'here', { lost: true })
  }

  test('are forgotten after a minute', async () => {
    const directory = new LocalDirectory()
    let now = 0
    const recent = new RecentNames(directory, { before: ['before.test'], now: () => now })
    await lose(directory, 'lost.test')
    now = 59_999
    assert.deepEqual([recent.has('before.test'), recent.has('lost.test')], [true, true])
    now = 60_000
    assert.deepEqual([recent.has('before.test'), recent.has('lost.test')], [false, false])
    assert.deepEqual(recent.list(), [])
  })

  test('are bounded for each owner, whose names do not push out those of others', async () => {
    const directory = new LocalDirectory()
    const recent = new RecentNames(directory)
    await lose(directory, 'honest.test', 'usr_honest')
    for (let count = 0; count < 1500; count++) await lose(directory, `n${count}.test`, 'usr_busy')
    assert.ok(recent.has('honest.test'))
    assert.equal(recent.list().length, 1001)
  })
})
