import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { signIn, visit, web } from '../../agent/support.ts'
import { createResource } from '../../support/each-store.ts'
import type { TestServer } from '../../support/server.ts'
import { askPlain, challenge, World } from './support.ts'
import { until } from '../../support/until.ts'

suite('an HTTP-01 challenge', () => {
  let world: World
  let server: TestServer
  before(async () => {
    world = await World.start()
    server = world.server
  })
  after(() => world[Symbol.asyncDispose]())

  test('is answered at its name with its token', async () => {
    await world.publish(challenge('http-01', 'shop.example.com', 'token-1'))
    const page = await askPlain(server, 'shop.example.com', 'token-1')
    assert.equal(page.status, 200)
    assert.equal(page.body, 'token-1.thumbprint')
    assert.equal(page.headers['content-type'], 'text/plain')
  })

  test('is not answered at another name, for another token, or for another challenge type', async () => {
    await world.publish(
      challenge('http-01', 'a.example.com', 'token-a'),
      challenge('http-01', 'b.example.com', 'token-b'),
      challenge('tls-alpn-01', 'a.example.com', 'token-c'),
      challenge('dns-01', 'a.example.com', 'token-d'),
    )
    for (const token of ['token-b', 'token-c', 'token-d', 'token-', 'token-a/', 'token%2Da', ''])
      assert.equal((await askPlain(server, 'a.example.com', token)).status, 404, token)
    assert.equal((await askPlain(server, 'sub.a.example.com', 'token-a')).status, 404)
    assert.equal((await askPlain(server, 'a.example.com', 'token-a')).status, 200)
  })

  test('is not answered when it has expired, or its expiry cannot be parsed', async () => {
    const [over, broken] = ['over', 'broken'].map(token => challenge('http-01', 'late.example.com', token))
    assert.ok(over && broken)
    await world.publish(
      { ...over, expires_at: new Date(Date.now() - 1000).toISOString() },
      { ...broken, expires_at: 'soon' },
    )
    assert.equal((await askPlain(server, 'late.example.com', 'over')).status, 404)
    assert.equal((await askPlain(server, 'late.example.com', 'broken')).status, 404)
  })

  test('precedes redirects, restrictions and the service, which gets all other tokens', async () => {
    await using service = await web(({ url }, response) => response.end(`service ${url}`))
    await using agent = await signIn(server)
    const open = await agent.listen({ url: 'http://open.adit.localhost', forwardTo: service.port })
    await agent.listen({ url: 'https://secured.adit.localhost', forwardTo: service.port })
    await world.publish(
      challenge('http-01', 'open.adit.localhost', 'ours'),
      challenge('http-01', 'secured.adit.localhost', 'ours-too'),
    )
    assert.equal((await askPlain(server, 'open.adit.localhost', 'ours')).body, 'ours.thumbprint')
    assert.equal((await askPlain(server, 'secured.adit.localhost', 'ours-too')).body, 'ours-too.thumbprint')
    const theirs = await askPlain(server, 'open.adit.localhost', 'theirs')
    assert.equal(theirs.body, 'service /.well-known/acme-challenge/theirs')
    assert.equal((await askPlain(server, 'secured.adit.localhost', 'theirs')).status, 308)
    const posted = await visit(`${open.url}/.well-known/acme-challenge/ours`, { method: 'POST' })
    assert.match(posted.body, /^service/)
    const { id } = await createResource(server.api, '/ip_policies')
    await createResource(server.api, '/ip_policy_rules', {
      ip_policy_id: id,
      cidr: '192.0.2.0/24',
      action: 'allow',
    })
    const restriction = { type: 'endpoints', enforced: true, ip_policy_ids: [id] }
    await createResource(server.api, '/ip_restrictions', restriction)
    await until(async () => (await askPlain(server, 'open.adit.localhost', 'theirs')).status === 403)
    assert.equal((await askPlain(server, 'open.adit.localhost', 'ours')).status, 200)
  })
})

test('every gateway process answers HTTP-01 challenges', async () => {
  await using world = await World.start({ workers: '2' })
  const { server } = world
  await world.publish(challenge('http-01', 'shop.example.com', 'token-1'))
  // Each visit is a connection of its own, and the system spreads them over the processes.
  const visits = () =>
    Promise.all(
      Array.from({ length: 20 }, async () => (await askPlain(server, 'shop.example.com', 'token-1')).status),
    )
  const answers = await until(visits, { fits: statuses => statuses.every(status => status === 200) })
  assert.equal(answers.length, 20)
})
