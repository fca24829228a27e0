import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { newId } from '#base/ids.ts'
import { TrafficWorld } from './support.ts'

const hello = (_request: unknown, response: { end(text: string): void }): void => response.end('hello')
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

/** An IP policy that lets only these in. */
function policy({ source }: TrafficWorld, ...ranges: string[]): string {
  const id = source.put('ip_policy', newId('ipp'), {})
  for (const cidr of ranges)
    source.put('ip_policy_rule', newId('ipr'), { cidr, action: 'allow', ip_policy: id }, { parent: id })
  return id
}

suite('what is reported about the modules of a request', () => {
  test('has who came with a password, and never the password', async () => {
    await using world = await TrafficWorld.start()
    const agent = await world.agent()
    const forwardTo = await world.service(hello)
    await agent.listen({ domain: 'app.adit.localhost', forwardTo, basicAuth: ['ann:geheim123'] })
    const ask = (authorization?: string) =>
      world.eventOf('app.adit.localhost', authorization === undefined ? {} : { headers: { authorization } })
    assert.deepEqual((await ask(basic('ann:geheim123'))).basic_auth, { decision: 'allow', username: 'ann' })
    assert.deepEqual((await ask(basic('bob:geheim'))).basic_auth, { decision: 'block', username: 'bob' })
    // It could be a password that was entered at the wrong place.
    assert.deepEqual((await ask(basic('geheim'))).basic_auth, { decision: 'block' })
    assert.deepEqual((await ask('Bearer geheim')).basic_auth, { decision: 'block' })
    assert.deepEqual((await ask()).basic_auth, { decision: 'block' })
    assert.doesNotMatch(world.events.map(({ body }) => body).join(''), /geheim/)
  })

  test('has how the answer was compressed and what that has saved', async () => {
    await using world = await TrafficWorld.start()
    const text = 'a line of text\n'.repeat(10_000)
    const random = randomBytes(3000).toString('latin1')
    const backend = await world.static(({ url }, response) => {
      response.setHeader('content-type', 'text/plain')
      if (url === '/done') response.setHeader('content-encoding', 'gzip')
      const content =
        { '/short': 'short', '/long': text, '/done': gzipSync(text) }[url ?? ''] ?? 'b'.repeat(600)
      if (url === '/random') response.end(random, 'latin1')
      else response.end(content)
    })
    world.edge('a.test', backend, { compression: { enabled: true } })
    const ask = async (path: string, coding: string, method = 'GET') => {
      const { compression, http } = await world.eventOf(`a.test${path}`, {
        method,
        headers: { 'accept-encoding': coding },
      })
      return { ...compression, length: http.response.body_length }
    }
    for (const coding of ['gzip', 'deflate', 'br', 'zstd']) {
      const { algorithm, bytes_saved: saved, length } = await ask('/long', coding)
      assert.equal(algorithm, coding)
      assert.ok(length > 0 && length < 10_000)
      assert.equal(saved, text.length - length)
    }
    const middling = await ask('/middling', 'gzip')
    assert.equal(middling.algorithm, 'gzip')
    assert.equal(middling.bytes_saved, 600 - middling.length)
    assert.deepEqual(await ask('/short', 'gzip'), { algorithm: 'none', bytes_saved: 0, length: 5 })
    assert.deepEqual(await ask('/long', 'identity'), {
      algorithm: 'none',
      bytes_saved: 0,
      length: text.length,
    })
    // The service has done it itself.
    const { algorithm, bytes_saved: saved } = await ask('/done', 'gzip')
    assert.deepEqual([algorithm, saved], ['none', 0])
    assert.deepEqual(await ask('/long', 'gzip', 'HEAD'), { algorithm: 'gzip', bytes_saved: 0, length: 0 })
    const grown = await ask('/random', 'gzip')
    assert.equal(grown.bytes_saved, random.length - grown.length)
  })

  test('has what the circuit breaker decides: to pass, to refuse, and to try', async () => {
    await using world = await TrafficWorld.start()
    let status = 500
    const backend = await world.static((_request, response) => {
      response.statusCode = status
      response.end()
    })
    const breaker = {
      enabled: true,
      tripped_duration: 1,
      rolling_window: 10,
      num_buckets: 1,
      volume_threshold: 1,
      error_threshold_percentage: 0,
    }
    world.edge('a.test', backend, { circuit_breaker: breaker })
    const decision = async (): Promise<string> => (await world.eventOf('a.test')).circuit_breaker.decision
    assert.equal(await decision(), 'allow')
    let decided = await decision()
    assert.equal(decided, 'block')
    status = 200
    while (decided === 'block') decided = await decision()
    assert.equal(decided, 'allow_while_open')
    assert.equal(await decision(), 'allow')
  })

  test('has the decisions of IP policies: those of the route, and those for all endpoints', async () => {
    await using world = await TrafficWorld.start()
    const backend = await world.static(hello)
    const restricted = (...ranges: string[]) => ({
      ip_restriction: { enabled: true, ip_policies: [policy(world, ...ranges)] },
    })
    world.edge('in.test', backend, restricted('127.0.0.0/8'))
    world.edge('out.test', backend, restricted('192.0.2.0/24'))
    world.edge('free.test', backend)
    assert.deepEqual((await world.eventOf('in.test')).ip_policy, { decision: 'allow' })
    assert.deepEqual((await world.eventOf('out.test')).ip_policy, { decision: 'block' })
    assert.equal((await world.eventOf('free.test')).ip_policy, undefined)
    world.source.restrict('endpoints', true, '192.0.2.0/24')
    const refused = await world.eventOf('free.test')
    assert.deepEqual(refused.ip_policy, { decision: 'block' })
    assert.equal(refused.http.response.status_code, 403)
  })

  test('has where clients are redirected to sign in, and that they were rejected', async () => {
    await using world = await TrafficWorld.start()
    const agent = await world.agent()
    const forwardTo = await world.service(hello)
    const oauth = { provider: 'google', clientId: 'the-app', clientSecret: 'geheim' }
    await agent.listen({ domain: 'app.adit.localhost', forwardTo, oauth })
    const published = await world.eventOf('app.adit.localhost')
    assert.deepEqual(published.oauth, { app_client_id: 'the-app', decision: 'block' })
    assert.doesNotMatch(JSON.stringify(published), /geheim/)
  })

  test('has what webhook verification decides', async () => {
    await using world = await TrafficWorld.start()
    const agent = await world.agent()
    const forwardTo = await world.service(hello)
    const verifyWebhook = { provider: 'gitlab', secret: 'geheim' }
    await agent.listen({ domain: 'app.adit.localhost', forwardTo, verifyWebhook })
    const ask = (token: string) =>
      world.eventOf('app.adit.localhost', { method: 'POST', headers: { 'x-gitlab-token': token } })
    assert.deepEqual((await ask('geheim')).webhook_verification, { decision: 'allow' })
    const wrong = createHash('sha256').update('geheim').digest('hex')
    assert.deepEqual((await ask(wrong)).webhook_verification, { decision: 'block' })
    assert.doesNotMatch(world.events.map(({ body }) => body).join(''), /geheim/)
  })
})
