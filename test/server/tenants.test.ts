import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import { get as getSecure } from 'node:https'
import type { AddressInfo } from 'node:net'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { domainToASCII } from 'node:url'
import { connect } from 'adit'
import { disposable } from '../agent/support.ts'
import { createResource } from '../support/each-store.ts'
import { type Member, newMember } from '../support/members.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { workerCounts } from '../support/workers.ts'

async function startService(text: string) {
  const service = createServer((_, response) => response.end(text)).listen(0, '127.0.0.1')
  await once(service, 'listening')
  return { port: (service.address() as AddressInfo).port, [Symbol.dispose]: () => void service.close() }
}

/** An agent with a credential of a member. */
async function agentOf({ api, bound, dataDir }: TestServer, { user }: Member) {
  const { token } = await createResource(api, '/credentials', { owner_id: user.id })
  const server = `127.0.0.1:${bound.agent?.port}`
  return disposable(await connect({ server, authtoken: String(token), ca: `${dataDir}/ca.pem` }))
}

async function textOf({ bound, dataDir }: TestServer, url: string): Promise<string> {
  const { protocol, hostname } = new URL(url)
  const isSecure = protocol === 'https:'
  const port = isSecure ? bound.https?.port : bound.http?.port
  const options = { host: '127.0.0.1', port, headers: { host: hostname }, agent: false as const }
  const ca = readFileSync(`${dataDir}/ca.pem`)
  const request = isSecure ? getSecure({ ...options, ca, servername: hostname }) : get(options)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const part of response.setEncoding('utf8')) text += String(part)
  return text
}

suite('a member cannot get the traffic of another one', () => {
  for (const workers of workerCounts)
    test(`by the labels of a tunnel group, with ${workers} gateway processes`, async () => {
      using victim = await startService('VICTIM')
      using attacker = await startService('ATTACKER')
      await using server = await startServer({ workers })
      const { api } = server
      const [alice, bob] = [await newMember(api), await newMember(api)]
      const as = { token: alice.token }
      const labels = { app: 'bank' }
      const group = await api.post('/backends/tunnel_group', { labels }, as)
      await api.post('/reserved_domains', { name: 'bank' }, as)
      const edge = await api.post('/edges/https', { hostports: ['bank.adit.localhost:443'] }, as)
      const route = { match_type: 'path_prefix', match: '/', backend: { backend_id: group.body.id } }
      assert.equal((await api.post(`/edges/https/${edge.body.id}/routes`, route, as)).status, 201)
      await using first = await agentOf(server, alice)
      await using second = await agentOf(server, bob)
      const own = await first.listen({ labels, forwardTo: victim.port })
      const foreign = await second.listen({ labels: { ...labels, env: 'prod' }, forwardTo: attacker.port })
      const seen = async (): Promise<Set<string>> => {
        const visits = Array.from({ length: 8 }, () => textOf(server, 'https://bank.adit.localhost/'))
        return new Set(await Promise.all(visits))
      }
      assert.deepEqual(await seen(), new Set(['VICTIM']))
      const { body } = await api.get(`/backends/tunnel_group/${group.body.id}`, as)
      assert.deepEqual(
        body.tunnels.map(({ id }: { id: string }) => id),
        [own.id],
      )
      assert.deepEqual((await api.get(`/tunnels/${foreign.id}`)).body.backends, [])
      // Shared on purpose, both take part.
      assert.equal(
        (await api.patch(`/backends/tunnel_group/${group.body.id}`, { owner_id: '' }, as)).status,
        200,
      )
      await until(async () => (await seen()).size === 2, { what: 'a shared group takes in both' })
    })
})

suite('a member cannot reserve', () => {
  const taken = [
    { reserved: '*.victim.example', asked: 'pay.victim.example' },
    { reserved: '*.victim.example', asked: '*.pay.victim.example' },
    { reserved: 'victim.example', asked: '*.victim.example' },
    { reserved: 'victim.example', asked: 'pay.victim.example' },
    { reserved: 'shop.adit.localhost', asked: 'sub.shop.adit.localhost' },
    { reserved: 'shop.adit.localhost', asked: domainToASCII('sh\u043ep.adit.localhost') },
  ]
  for (const { reserved, asked } of taken)
    test(`${asked} where another user has reserved ${reserved}, unless that is shared`, async () => {
      await using server = await startServer()
      const { api } = server
      const [alice, bob] = [await newMember(api), await newMember(api)]
      const { body } = await api.post('/reserved_domains', { domain: reserved }, { token: alice.token })
      const refused = await api.post('/reserved_domains', { domain: asked }, { token: bob.token })
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'ERR_ADIT_90260'])
      assert.doesNotMatch(JSON.stringify(refused.body), /rd_|usr_/)
      const shared = await api.patch(`/reserved_domains/${body.id}`, { owner_id: '' }, { token: alice.token })
      assert.equal(shared.status, 200)
      assert.equal((await api.post('/reserved_domains', { domain: asked }, { token: bob.token })).status, 201)
    })

  test('a name that another user has online, or one below it', async () => {
    await using server = await startServer()
    const { api } = server
    const [alice, bob] = [await newMember(api), await newMember(api)]
    await using agent = await agentOf(server, alice)
    await agent.listen({ proto: 'http', domain: 'shop', forwardTo: 1 })
    for (const name of ['shop', 'sub.shop.adit.localhost']) {
      const refused = await api.post('/reserved_domains', { name }, { token: bob.token })
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'ERR_ADIT_90260'], name)
      assert.equal((await api.post('/reserved_domains', { name }, { token: alice.token })).status, 201)
    }
  })

  test('a name that is held back, which an admin can', async () => {
    await using server = await startServer()
    const { api } = server
    const member = await newMember(api)
    for (const name of ['www', 'wpad', 'autodiscover', 'x.mail.adit.localhost', domainToASCII('w\u0461w')]) {
      const refused = await api.post('/reserved_domains', { name }, { token: member.token })
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'ERR_ADIT_90262'], name)
      assert.equal((await api.post('/reserved_domains', { name })).status, 201)
    }
  })
})
