import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import type { AgentError } from '#agent/agent-error.ts'
import { signIn } from '../../agent/support.ts'
import { GatewayProcess } from '../survive/agent-support.ts'
import { visit } from '../compat/agent-sdk/visits.ts'
import { World } from './world.ts'

/** 137 characters that compile to 19,804 steps. */
const LARGE = `${'bcdefghijkl'
  .split('')
  .map(to => `[a-${to}]{0,900}`)
  .join('')}[xy]$`
const NAME = 'patterns.example.test'

suite('patterns that are too large', () => {
  test('are rejected by the API, for modules and event filters', async () => {
    await using world = await World.start()
    const edge = await world.edge([NAME])
    const route = await world.route(edge, '/', await world.fixedResponse('hello'))
    const { api } = world.server
    const path = `/edges/https/${edge}/routes/${route}/user_agent_filter`
    for (const body of [{ deny: Array(100).fill(LARGE) }, { allow: [LARGE] }]) {
      const { status, body: answer } = await api.put(path, body)
      assert.equal(status, 400)
      assert.equal(answer.error_code, 'ERR_ADIT_90280')
      assert.match(answer.msg, /"(allow|deny)": the patterns are too large in total, at most 1024 steps/)
    }
    assert.equal((await world.ask(`${NAME}/`)).status, 200)
    const filter = `ev.conn.server_name.matches(${JSON.stringify(LARGE)})`
    const source = { type: 'http_request_complete.v0', filter }
    const subscription = await api.post('/event_subscriptions', { sources: [source] })
    assert.equal(subscription.status, 400)
    assert.match(subscription.body.msg, /too large in total/)
  })

  test('are rejected when an agent binds, and its session stays open', async () => {
    await using world = await World.start()
    await using agent = await signIn(world.server)
    await assert.rejects(
      agent.listen({ forwardTo: 1, userAgentFilter: { deny: Array(100).fill(LARGE) } }),
      (error: AgentError) => /UserAgentFilter.*too large in total/.test(error.message),
    )
    assert.match((await agent.listen({ forwardTo: 1, userAgentFilter: { deny: ['bot'] } })).url, /^https:/)
  })

  test('of an older release make their own endpoint answer 503, and the server starts', async () => {
    await using gateway = await GatewayProcess.start()
    const { api, dataDir } = gateway
    const make = async (path: string, body: object): Promise<string> => (await api.post(path, body)).body.id
    const backend = { backend_id: await make('/backends/http_response', { body: 'hello' }) }
    const names = ['old.adit.localhost', 'good.adit.localhost']
    const routes: string[] = []
    for (const domain of names) {
      await make('/reserved_domains', { domain })
      const edge = await make('/edges/https', { hostports: [`${domain}:443`] })
      const route = { match_type: 'path_prefix', match: '/', backend, user_agent_filter: { deny: ['^kept'] } }
      routes.push(await make(`/edges/https/${edge}/routes`, route))
    }
    await gateway.kill()
    using database = new DatabaseSync(join(dataDir, 'adit.db'))
    const { changes } = database
      .prepare(`UPDATE resource SET body = replace(body, '^kept', ?) WHERE id = ?`)
      .run(LARGE, routes[0] ?? '')
    assert.equal(changes, 1)
    await gateway.restart()
    const port = gateway.process.bound.https?.port
    const ask = (name: string) =>
      visit(`https://${name}:${port}/`, { ca: gateway.rootPem, headers: { 'user-agent': 'a' } })
    const [old, good] = await Promise.all(names.map(ask))
    assert.equal(good?.status, 200)
    assert.equal(old?.status, 503)
    assert.equal(old.headers['adit-error-code'], 'ERR_ADIT_90043')
    assert.match(old.text, /too large in total/)
  })
})
