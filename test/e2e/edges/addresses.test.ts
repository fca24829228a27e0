import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { suite, test } from 'node:test'
import { World } from './world.ts'
import { until } from '../../support/until.ts'
import { echo } from '../../support/net.ts'

/** What comes back on a connection; undefined when it cannot be made. */
async function tried(open: () => ReturnType<typeof connect>): Promise<string | undefined> {
  const socket = open()
  let text = ''
  let failed = false
  socket.setEncoding('utf8').on('data', part => (text += part))
  socket.on('error', () => (failed = true))
  socket.end('ping')
  await new Promise(resolve => socket.once('close', resolve))
  return failed ? undefined : text
}

async function policy(world: World, ...cidrs: string[]): Promise<string> {
  const { id } = await world.make('/ip_policies', {})
  for (const cidr of cidrs) await world.make('/ip_policy_rules', { ip_policy_id: id, cidr, action: 'allow' })
  return id
}

const others = '192.0.2.0/24'
const here = '127.0.0.0/8'

suite('an IP restriction', () => {
  test('on a route of an HTTPS edge refuses with 403, and follows its rules', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    const id = await policy(world, others)
    const ip_restriction = { ip_policy_ids: [id] }
    await world.route(edge, '/', await world.fixedResponse('in'), { ip_restriction })
    await world.route(edge, '/open', await world.fixedResponse('open'))
    const refused = await world.ask('a.example.test')
    assert.deepEqual([refused.status, refused.code], [403, 'ERR_ADIT_3203'])
    assert.equal((await world.ask('a.example.test/open')).text, 'open')
    await world.make('/ip_policy_rules', { ip_policy_id: id, cidr: here, action: 'allow' })
    await until(() => world.ask('a.example.test'), { fits: ({ text }) => text === 'in' })
    await world.make('/ip_policy_rules', { ip_policy_id: id, cidr: '127.0.0.1/32', action: 'deny' })
    await until(() => world.ask('a.example.test'), { fits: ({ status }) => status === 403 })
  })

  test('on a TCP edge closes the connection; the port is opened and closed by the API', async () => {
    await using world = await World.start()
    await using service = await echo()
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${service.port}` })
    const addr = await world.make('/reserved_addrs', {})
    const hostport = String(addr['addr'])
    const port = Number(hostport.split(':').at(-1))
    const edge = await world.make('/edges/tcp', {
      hostports: [hostport],
      backend: { backend_id: backend.id },
    })
    const visit = () => tried(() => connect(port, '127.0.0.1'))
    await until(visit, { fits: text => text === 'ping' })
    const restriction = { ip_restriction: { ip_policy_ids: [await policy(world, others)] } }
    await world.change(`/edges/tcp/${edge.id}`, restriction)
    await until(visit, { fits: text => text !== 'ping' })
    await world.server.api.delete(`/edges/tcp/${edge.id}/ip_restriction`)
    await until(visit, { fits: text => text === 'ping' })
    assert.equal((await world.server.api.delete(`/edges/tcp/${edge.id}`)).status, 204)
    await until(visit, { fits: text => text === undefined })
  })

  test('on a TLS edge closes the connection, passed through or terminated', async () => {
    await using world = await World.start()
    await using service = await echo()
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${service.port}` })
    await world.make('/reserved_domains', { domain: 't.example.test' })
    const edge = await world.make('/edges/tls', {
      hostports: ['t.example.test:443'],
      backend: { backend_id: backend.id },
      tls_termination: { terminate_at: 'edge' },
    })
    const { port = 0 } = world.server.bound.https ?? {}
    const visit = () =>
      tried(() => connectTls({ host: '127.0.0.1', port, servername: 't.example.test', ca: world.ca }))
    await until(visit, { fits: text => text === 'ping' })
    const restriction = { ip_restriction: { ip_policy_ids: [await policy(world, others)] } }
    await world.change(`/edges/tls/${edge.id}`, restriction)
    await until(visit, { fits: text => text !== 'ping' })
  })

  test('for all endpoints has its own error code, or is only logged', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    await world.route(edge, '/', await world.fixedResponse('in'))
    const restriction = await world.make('/ip_restrictions', {
      type: 'endpoints',
      enforced: true,
      ip_policy_ids: [await policy(world, others)],
    })
    const refused = await until(() => world.ask('a.example.test'), { fits: ({ status }) => status === 403 })
    assert.equal(refused.code, 'ERR_ADIT_3205')
    await world.change(`/ip_restrictions/${restriction.id}`, { enforced: false })
    await until(() => world.ask('a.example.test'), { fits: ({ text }) => text === 'in' })
  })
})
