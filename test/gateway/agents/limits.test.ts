import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Share } from '#gateway/agents/usage.ts'
import { startGateway, TestAgent } from './support.ts'
import { until } from '../../support/until.ts'

const wide: Share = { sessions: 1000, tunnels: 1000, tcpPorts: 1000, metadataKib: 1000 }

/** Two users of a gateway with limits; the first has two credentials. */
async function limited(limits: { credential?: Partial<Share>; owner?: Partial<Share> }, ports = 1000) {
  const gateway = await startGateway({
    info: { randomTcpPorts: { first: 20_000, last: 20_000 + ports - 1 } },
    sessions: {
      limits: { credential: { ...wide, ...limits.credential }, owner: { ...wide, ...limits.owner } },
    },
  })
  const tokens = {
    alice: gateway.source.credential([], 'usr_alice').token,
    aliceToo: gateway.source.credential([], 'usr_alice').token,
    bob: gateway.source.credential([], 'usr_bob').token,
  }
  const sign = (who: keyof typeof tokens) => TestAgent.signIn(gateway, tokens[who])
  return { gateway, tokens, sign, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() }
}

const LIMIT = /ERR_NGROK_90263/

suite('what one credential has online is limited', () => {
  test('in sessions; other credentials and users are unaffected, and a closed session is not counted', async () => {
    await using world = await limited({ credential: { sessions: 2 } })
    const first = await world.sign('alice')
    await world.sign('alice')
    await assert.rejects(
      world.sign('alice'),
      /A credential may have at most 2 agent sessions.*ADIT_CREDENTIAL_SESSIONS/s,
    )
    await world.sign('aliceToo')
    await world.sign('bob')
    first.session.close()
    await until(() => world.gateway.directory.sessions.size === 3)
    await world.sign('alice')
  })

  test('in tunnels, over all of its sessions, also with concurrent binds', async () => {
    await using world = await limited({ credential: { tunnels: 5 } })
    const agents = [await world.sign('alice'), await world.sign('alice')]
    const answers = await Promise.all(
      agents.flatMap(agent => Array.from({ length: 6 }, () => agent.bind('https'))),
    )
    assert.equal(answers.filter(({ Error: refusal }) => refusal === '').length, 5)
    assert.equal(answers.filter(({ Error: refusal }) => LIMIT.test(refusal)).length, 7)
    const [taken] = answers.filter(({ Error: refusal }) => refusal === '')
    for (const agent of agents) await agent.unbind(taken?.Id ?? '')
    assert.equal((await agents[0]?.bind('https'))?.Error, '')
    assert.match((await agents[1]?.label({ a: 'b' }))?.Error ?? '', LIMIT)
  })

  test('in TCP ports', async () => {
    await using world = await limited({ credential: { tcpPorts: 2 } })
    const agent = await world.sign('alice')
    for (let count = 0; count < 2; count++) assert.equal((await agent.bind('tcp')).Error, '')
    assert.match((await agent.bind('tcp')).Error, LIMIT)
    assert.equal((await agent.bind('https')).Error, '')
  })

  test('in metadata and labels', async () => {
    await using world = await limited({ credential: { metadataKib: 7 } })
    const agent = await world.sign('alice')
    const large = { extra: { Metadata: 'm'.repeat(4000) } }
    assert.equal((await agent.bind('https', {}, large)).Error, '')
    const last = await agent.bind('https')
    assert.equal(last.Error, '')
    assert.match((await agent.bind('https', {}, { extra: { Metadata: 'm'.repeat(4090) } })).Error, LIMIT)
    const labels = Object.fromEntries(Array.from({ length: 5 }, (_, count) => [`l${count}`, 'v'.repeat(900)]))
    assert.match((await agent.label(labels)).Error, LIMIT)
    assert.match((await agent.patch({ TunnelId: last.Id, Metadata: 'm'.repeat(4090) })).Error, LIMIT)
  })
})

suite('what one user has online is limited', () => {
  test('over all credentials, whatever the limit of each', async () => {
    await using world = await limited({ owner: { sessions: 3, tunnels: 3 } })
    const agents = [await world.sign('alice'), await world.sign('alice'), await world.sign('aliceToo')]
    await assert.rejects(
      world.sign('aliceToo'),
      /A user may have at most 3 agent sessions.*ADIT_OWNER_SESSIONS/s,
    )
    for (const agent of agents) assert.equal((await agent.bind('https')).Error, '')
    assert.match((await agents[2]?.bind('https'))?.Error ?? '', LIMIT)
    const other = await world.sign('bob')
    assert.equal((await other.bind('https')).Error, '')
  })

  test('to half of the TCP ports, so that others find a port; admins may use all', async () => {
    await using world = await limited({}, 6)
    const [alice, bob] = [await world.sign('alice'), await world.sign('bob')]
    for (let count = 0; count < 3; count++) assert.equal((await alice.bind('tcp')).Error, '')
    assert.match((await alice.bind('tcp')).Error, /ERR_NGROK_90264/)
    assert.equal((await bob.bind('tcp')).Error, '')
    world.gateway.source.user('usr_alice', { role: 'admin' })
    assert.equal((await alice.bind('tcp')).Error, '')
  })
})

test('an agent that reconnects keeps its tunnels, even above the limit', async () => {
  await using world = await limited({ credential: { sessions: 1, tunnels: 1 } })
  const before = await world.sign('alice')
  const tunnel = await before.bind('https', { Domain: 'mine' })
  const again = await TestAgent.connect(world.gateway)
  again.clientId = before.clientId
  again.cookie = before.cookie
  assert.equal((await again.auth(world.tokens.alice)).Error, '')
  assert.equal((await again.rebind(tunnel)).Error, '')
})
