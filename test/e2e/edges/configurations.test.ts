import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { suite, test } from 'node:test'
import { secretText } from '../../support/secrets.ts'
import { World } from './world.ts'
import { until } from '../../support/until.ts'
import { echo } from '../../support/net.ts'

/** What comes on a connection to a port of this machine, to its end. */
async function bytesFrom(port: number, sent = 'ping'): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', part => (text += part))
  socket.on('error', () => undefined)
  socket.end(sent)
  await new Promise(resolve => socket.once('close', resolve))
  return text
}

const portOf = (addr: unknown): number => Number(String(addr).split(':').at(-1))

suite('the endpoint configuration of a domain', () => {
  test('applies to the tunnels of agents, and changes take effect at once', async () => {
    await using world = await World.start()
    const port = await world.service((request, response) => response.end(String(request.headers['x-added'])))
    const configuration = await world.make('/endpoint_configurations', {
      type: 'https',
      request_headers: { add: { 'x-added': 'by the configuration' } },
      response_headers: { add: { 'x-seen': 'yes' } },
    })
    await world.make('/reserved_domains', {
      domain: 'a.example.test',
      https_endpoint_configuration_id: configuration.id,
    })
    const agent = await world.agent()
    await agent.listen({ proto: 'https', domain: 'a.example.test', forwardTo: port })
    const got = await world.ask('a.example.test')
    assert.deepEqual([got.status, got.text, got.headers['x-seen']], [200, 'by the configuration', 'yes'])
    await world.change(`/endpoint_configurations/${configuration.id}`, {
      request_headers: { add: { 'x-added': 'changed' } },
    })
    await until(() => world.ask('a.example.test'), { fits: ({ text }) => text === 'changed' })
  })

  test('requires the password that the agent sent, in its own realm', async () => {
    await using world = await World.start()
    const port = await world.service((_, response) => response.end('in'))
    const { id } = await world.make('/endpoint_configurations', {
      type: 'https',
      basic_auth: { realm: 'of the owner', allow_options: true },
    })
    await world.make('/reserved_domains', { domain: 'a.example.test', https_endpoint_configuration_id: id })
    const agent = await world.agent()
    const domain = 'a.example.test'
    await agent.listen({
      proto: 'https',
      domain,
      forwardTo: port,
      basicAuth: [`ann:${secretText('password')}`],
    })
    const refused = await world.ask(domain)
    assert.equal(refused.status, 401)
    assert.match(String(refused.headers['www-authenticate']), /realm="of the owner"/)
    const authorization = `Basic ${Buffer.from(`ann:${secretText('password')}`).toString('base64')}`
    assert.equal((await world.ask(domain, { headers: { authorization } })).text, 'in')
    assert.equal((await world.ask(domain, { method: 'OPTIONS' })).status, 200)
  })

  test('with a backend serves without an agent, until an agent binds the name', async () => {
    await using world = await World.start()
    const { id } = await world.make('/endpoint_configurations', {
      type: 'https',
      backend: { backend_id: await world.fixedResponse('no agent') },
      response_headers: { add: { 'x-seen': 'yes' } },
    })
    await world.make('/reserved_domains', { domain: 'a.example.test', https_endpoint_configuration_id: id })
    const alone = await world.ask('a.example.test')
    assert.deepEqual([alone.status, alone.text, alone.headers['x-seen']], [200, 'no agent', 'yes'])
    const agent = await world.agent()
    const forwardTo = await world.service((_, response) => response.end('the agent'))
    const tunnel = await agent.listen({ proto: 'https', domain: 'a.example.test', forwardTo })
    assert.equal((await world.ask('a.example.test')).text, 'the agent')
    await tunnel.close()
    await until(() => world.ask('a.example.test'), { fits: ({ text }) => text === 'no agent' })
  })
})

suite('the endpoint configuration of an address', () => {
  test('opens its port for a backend, applies its restriction, and closes it', async () => {
    await using world = await World.start()
    await using service = await echo()
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${service.port}` })
    const policy = await world.make('/ip_policies', {})
    const rule = await world.make('/ip_policy_rules', {
      ip_policy_id: policy.id,
      cidr: '127.0.0.0/8',
      action: 'allow',
    })
    const { id } = await world.make('/endpoint_configurations', {
      type: 'tcp',
      backend: { backend_id: backend.id },
      ip_policy: { ip_policy_ids: [policy.id] },
    })
    const addr = await world.make('/reserved_addrs', { endpoint_configuration_id: id })
    const port = portOf(addr['addr'])
    await until(() => bytesFrom(port), { fits: text => text === 'ping' })
    await world.change(`/ip_policy_rules/${rule.id}`, { cidr: '192.0.2.0/24' })
    await until(() => bytesFrom(port), { fits: text => text === '' })
  })
})
