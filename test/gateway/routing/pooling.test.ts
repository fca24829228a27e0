import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { LiveView } from '#registry/live.ts'
import { type TestAgent } from '../agents/support.ts'
import { startRouter, visit } from './support.ts'
import { noRequests } from '../../support/no-requests.ts'
import { until } from '../../support/until.ts'

const code = (text: string): string => /ERR_NGROK_\d+/.exec(text)?.[0] ?? text
const pooled = { extra: { PoolingEnabled: true } }

async function pool(size: number, domain = 'shared') {
  const plan = await startRouter()
  const agents: TestAgent[] = []
  const ids: string[] = []
  for (let count = 0; count < size; count++) {
    const agent = await plan.agent()
    const answer = await agent.bind('https', { Domain: domain }, pooled)
    assert.equal(answer.Error, '')
    agents.push(agent)
    ids.push(answer.Id)
  }
  /** Which tunnels answered so many requests, in order. */
  const answered = async (requests: number): Promise<string[]> => {
    const found: string[] = []
    for (let count = 0; count < requests; count++) {
      const { status, text } = await visit(plan.router, 'shared.adit.localhost/x')
      assert.equal(status, 200, text)
      found.push(text.split(' ')[0] ?? '')
    }
    return found
  }
  return { ...plan, agents, ids, answered, [Symbol.asyncDispose]: () => plan[Symbol.asyncDispose]() }
}

suite('endpoints with one URL and pooling', () => {
  test('share requests by round robin', async () => {
    await using world = await pool(3)
    const first = await world.answered(3)
    assert.deepEqual(first.toSorted(), world.ids.toSorted())
    assert.deepEqual(await world.answered(3), first)
  })

  test('are listed each with its own id', async () => {
    await using world = await pool(2)
    const { gateway } = world
    const explain = () => assert.fail()
    const live = new LiveView({ ...gateway, dialer: gateway.sessions, requests: noRequests, explain })
    const tunnels = await live.list('tunnel', { limit: 10 })
    const endpoints = await live.list('endpoint', { limit: 10 })
    assert.deepEqual(tunnels.map(({ id }) => String(id)).toSorted(), world.ids.toSorted())
    assert.equal(new Set(endpoints.map(({ id }) => id)).size, 2)
    assert.deepEqual(new Set(endpoints.map(it => it['public_url'])).size, 1)
  })

  test('a member that is gone gets no more requests, and one that returns gets its share', async () => {
    await using world = await pool(2)
    const [left, gone] = world.agents
    const [leftId, goneId = ''] = world.ids
    assert.ok(left && gone && leftId)
    await gone.unbind(goneId)
    assert.deepEqual(new Set(await world.answered(4)), new Set([leftId]))
    const { Id } = await gone.bind('https', { Domain: 'shared' }, pooled)
    assert.deepEqual(new Set(await world.answered(2)), new Set([leftId, Id]))
  })

  test('a request that a member refuses is retried at another one, and the member is skipped', async () => {
    await using world = await pool(2)
    const [, bad] = world.agents
    const [goodId] = world.ids
    let refused = 0
    assert.ok(bad)
    bad.onProxied = stream => {
      refused++
      stream.reset('stream_refused')
    }
    assert.deepEqual(new Set(await world.answered(2)), new Set([goodId]))
    const tried = refused
    assert.ok(tried > 0)
    assert.deepEqual(new Set(await world.answered(6)), new Set([goodId]))
    assert.equal(refused, tried)
  })

  test('share TCP connections too', async () => {
    await using plan = await startRouter()
    const [one, two] = [await plan.agent(), await plan.agent()]
    const first = await one.bind('tcp', {}, pooled)
    const second = await two.bind('tcp', { URL: first.URL }, pooled)
    assert.equal(second.Error, '')
    assert.equal(second.URL, first.URL)
    const upstream = plan.router.tcp(Number(first.URL.split(':').at(-1)))
    const guest = { ip: '192.0.2.7', port: 50_000, localIp: '127.0.0.1', localPort: 1, serverName: undefined }
    for (let count = 0; count < 4; count++) await upstream?.dial(guest, Buffer.alloc(0))
    await until(() => one.proxied.length === 2 && two.proxied.length === 2, { what: 'both have their share' })
  })
})

suite('a pool rejects', () => {
  test('an endpoint without pooling, and one with pooling beside an endpoint without', async () => {
    await using world = await pool(1)
    const other = await world.agent()
    assert.equal(code((await other.bind('https', { Domain: 'shared' })).Error), 'ERR_NGROK_334')
    assert.equal((await other.bind('https', { Domain: 'alone' })).Error, '')
    const { Error: refusal } = await other.bind('https', { Domain: 'alone' }, pooled)
    assert.equal(code(refusal), 'ERR_NGROK_334')
    assert.match(refusal, /pooling/)
  })

  test('an endpoint of another user', async () => {
    await using world = await pool(1)
    const stranger = await world.agent('usr_stranger')
    assert.equal(code((await stranger.bind('https', { Domain: 'shared' }, pooled)).Error), 'ERR_NGROK_334')
  })

  test('an endpoint of another scheme', async () => {
    await using world = await pool(1)
    const other = await world.agent()
    assert.equal(code((await other.bind('tls', { Domain: 'shared' }, pooled)).Error), 'ERR_NGROK_334')
  })

  test('an endpoint with other options, which would bypass those of the others', async () => {
    await using world = await pool(1)
    const other = await world.agent()
    const options = {
      Domain: 'shared',
      BasicAuth: { credentials: [{ username: 'a', cleartext_password: 'secret-12' }] },
    }
    assert.equal(code((await other.bind('https', options, pooled)).Error), 'ERR_NGROK_90261')
  })

  test('to lose pooling while others share it', async () => {
    await using world = await pool(2)
    const [first] = world.agents
    const refusal = await first?.patch({ TunnelId: world.ids[0], PoolingEnabled: false })
    assert.equal(code(refusal?.Error ?? ''), 'ERR_NGROK_334')
  })
})
