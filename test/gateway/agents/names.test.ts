import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { domainToASCII } from 'node:url'
import { newId } from '#base/ids.ts'
import { freePort } from '../../support/free-ports.ts'
import { startGateway, TestAgent } from './support.ts'

const code = (text: string): string => /ERR_NGROK_\d+/.exec(text)?.[0] ?? text

/** Agents of two users who do not trust each other, and another credential of the first one. */
async function twoUsers() {
  const gateway = await startGateway()
  const agentOf = (owner: string) => TestAgent.signIn(gateway, gateway.source.credential([], owner).token)
  const [alice, aliceToo, bob] = [
    await agentOf('usr_alice'),
    await agentOf('usr_alice'),
    await agentOf('usr_bob'),
  ]
  return { gateway, alice, aliceToo, bob, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() }
}

suite('a host name belongs to one user in all schemes', () => {
  const schemes = ['http', 'https', 'tls']
  for (const held of schemes)
    for (const asked of schemes.filter(scheme => scheme !== held))
      test(`${asked} of a name that is online as ${held} is rejected for another user`, async () => {
        await using world = await twoUsers()
        assert.equal((await world.alice.bind(held, { Domain: 'dup' })).Error, '')
        const { Error: refusal } = await world.bob.bind(asked, { Domain: 'dup' })
        assert.match(code(refusal), /^ERR_NGROK_(334|90260)$/)
        assert.equal(world.gateway.directory.tunnels.size, 1)
      })

  test('another credential of the same user may use the other scheme', async () => {
    await using world = await twoUsers()
    assert.equal((await world.alice.bind('https', { Domain: 'dup' })).Error, '')
    assert.equal((await world.aliceToo.bind('http', { Domain: 'dup' })).Error, '')
  })

  test('a name is free for another user once its last scheme is offline', async () => {
    await using world = await twoUsers()
    const { Id } = await world.alice.bind('https', { Domain: 'dup' })
    const plain = await world.alice.bind('http', { Domain: 'dup' })
    await world.alice.unbind(plain.Id)
    assert.equal(code((await world.bob.bind('http', { Domain: 'dup' })).Error), 'ERR_NGROK_90260')
    await world.alice.unbind(Id)
    assert.equal((await world.bob.bind('http', { Domain: 'dup' })).Error, '')
  })
})

suite('a refusal', () => {
  test('names no session of another user', async () => {
    await using world = await twoUsers()
    await world.alice.bind('https', { Domain: 'dup' })
    const { Error: same } = await world.bob.bind('https', { Domain: 'dup' })
    const { Error: other } = await world.bob.bind('http', { Domain: 'dup' })
    assert.equal(code(same), 'ERR_NGROK_334')
    assert.doesNotMatch(same + other, /ts_|tn_|cr_|usr_/)
    assert.ok((await world.aliceToo.bind('https', { Domain: 'dup' })).Error.includes(world.alice.clientId))
  })

  test('names no edge', async () => {
    await using world = await twoUsers()
    const { source } = world.gateway
    const port = 20_321
    source.put('https_edge', newId('edghts'), { hostports: ['a.adit.localhost:443'] })
    source.put('tcp_edge', newId('edgtcp'), { hostports: [`1.tcp.adit.localhost:${port}`] })
    const byName = await world.bob.bind('https', { Domain: 'a' })
    const byPort = await world.bob.bind('tcp', { Addr: `:${port}` })
    for (const { Error: refusal } of [byName, byPort]) {
      assert.equal(code(refusal), 'ERR_NGROK_90052')
      assert.doesNotMatch(refusal, /edghts_|edgtcp_/)
    }
  })
})

suite('a reservation is for its owner', () => {
  const reserve = (world: Awaited<ReturnType<typeof twoUsers>>, domain: string, owner: string | null) =>
    world.gateway.source.put('reserved_domain', newId('rd'), { domain, owner_id: owner ?? '' })

  const cases = [
    { reserved: 'res.adit.localhost', asked: 'res.adit.localhost' },
    { reserved: 'v2.example', asked: 'v2.example' },
    { reserved: '*.victim.example', asked: '*.victim.example' },
    { reserved: '*.victim.example', asked: 'pay.victim.example' },
    { reserved: '*.victim.example', asked: 'a.b.victim.example' },
    { reserved: '*.team.adit.localhost', asked: 'login.team.adit.localhost' },
    { reserved: 'shop.adit.localhost', asked: 'sub.shop.adit.localhost' },
    { reserved: 'shop.adit.localhost', asked: 'a.sub.shop.adit.localhost' },
  ]
  for (const { reserved, asked } of cases)
    for (const scheme of ['http', 'https', 'tls'])
      test(`${scheme}://${asked} is allowed for the owner of ${reserved}, admins, and all if it is shared`, async () => {
        await using world = await twoUsers()
        const { gateway, alice, bob } = world
        const id = reserve(world, reserved, 'usr_alice')
        const refused = await bob.bind(scheme, { Domain: asked })
        assert.equal(code(refused.Error), 'ERR_NGROK_90260')
        assert.doesNotMatch(refused.Error, /rd_|usr_/)
        const { Id, Error: none } = await alice.bind(scheme, { Domain: asked })
        assert.equal(none, '')
        await alice.unbind(Id)
        gateway.source.user('usr_bob', { role: 'admin' })
        const byAdmin = await bob.bind(scheme, { Domain: asked })
        assert.equal(byAdmin.Error, '')
        await bob.unbind(byAdmin.Id)
        gateway.source.user('usr_bob')
        gateway.source.put('reserved_domain', id, { domain: reserved, owner_id: '' })
        assert.equal((await bob.bind(scheme, { Domain: asked })).Error, '')
      })

  test('also of a TCP address', async () => {
    await using world = await twoUsers()
    const { gateway, alice, bob } = world
    const port = await freePort()
    const addr = { addr: `1.tcp.adit.localhost:${port}`, owner_id: 'usr_alice' }
    const id = gateway.source.put('reserved_addr', newId('ra'), addr)
    assert.equal(code((await bob.bind('tcp', { Addr: `:${port}` })).Error), 'ERR_NGROK_90260')
    const { Id, Error: none } = await alice.bind('tcp', { Addr: `:${port}` })
    assert.equal(none, '')
    await alice.unbind(Id)
    gateway.source.put('reserved_addr', id, { ...addr, owner_id: '' })
    assert.equal((await bob.bind('tcp', { Addr: `:${port}` })).Error, '')
  })

  test('the nearest reservation decides', async () => {
    await using world = await twoUsers()
    reserve(world, '*.team.adit.localhost', 'usr_alice')
    reserve(world, 'own.team.adit.localhost', 'usr_bob')
    assert.equal((await world.bob.bind('https', { Domain: 'own.team.adit.localhost' })).Error, '')
    assert.equal((await world.bob.bind('https', { Domain: 'x.own.team.adit.localhost' })).Error, '')
    const { Error: refusal } = await world.alice.bind('https', { Domain: 'y.own.team.adit.localhost' })
    assert.equal(code(refusal), 'ERR_NGROK_90260')
  })

  test('an agent that reconnects does not get back what was reserved for another user meanwhile', async () => {
    await using world = await twoUsers()
    const before = await world.bob.bind('https', { Domain: 'free' })
    await world.bob.unbind(before.Id)
    reserve(world, 'free.adit.localhost', 'usr_alice')
    assert.equal(code((await world.bob.rebind(before)).Error), 'ERR_NGROK_90260')
  })
})

suite('a subdomain of', () => {
  test('one that is online belongs to its owner', async () => {
    await using world = await twoUsers()
    await world.alice.bind('https', { Domain: 'shop' })
    for (const name of ['sub.shop.adit.localhost', 'a.sub.shop.adit.localhost'])
      assert.equal(code((await world.bob.bind('https', { Domain: name })).Error), 'ERR_NGROK_90260', name)
    assert.equal((await world.aliceToo.bind('https', { Domain: 'sub.shop.adit.localhost' })).Error, '')
    assert.equal((await world.bob.bind('https', { Domain: 'other' })).Error, '')
  })

  test('a shared wildcard that is online belongs to the user who has it online', async () => {
    await using world = await twoUsers()
    world.gateway.source.put('reserved_domain', newId('rd'), { domain: '*.team.example', owner_id: '' })
    assert.equal((await world.alice.bind('https', { Domain: '*.team.example' })).Error, '')
    assert.equal(
      code((await world.bob.bind('http', { Domain: 'pay.team.example' })).Error),
      'ERR_NGROK_90260',
    )
  })

  test('one of an edge belongs to the owner of the edge', async () => {
    await using world = await twoUsers()
    const edge = { hostports: ['shop.adit.localhost:443'], owner_id: 'usr_alice' }
    world.gateway.source.put('https_edge', newId('edghts'), edge)
    const { Error: refusal } = await world.bob.bind('https', { Domain: 'sub.shop.adit.localhost' })
    assert.equal(code(refusal), 'ERR_NGROK_90260')
    assert.equal((await world.alice.bind('https', { Domain: 'sub.shop.adit.localhost' })).Error, '')
  })

  test('a name that is online now is restored if it was online first', async () => {
    await using world = await twoUsers()
    const before = await world.bob.bind('https', { Domain: 'sub.shop.adit.localhost' })
    assert.equal((await world.alice.bind('https', { Domain: 'shop' })).Error, '')
    await world.bob.unbind(before.Id)
    assert.equal((await world.bob.rebind(before)).Error, '')
  })
})

suite('a name that needs a reservation', () => {
  for (const name of [
    'www',
    'mail',
    'autodiscover',
    'wpad',
    'admin',
    'connect',
    'dns',
    'x.wpad.adit.localhost',
  ])
    test(`is refused: ${name}`, async () => {
      await using world = await twoUsers()
      const refused = await world.alice.bind('https', { Domain: name })
      assert.equal(code(refused.Error), 'ERR_NGROK_90262')
      const domain = name.includes('.') ? name : `${name}.adit.localhost`
      world.gateway.source.put('reserved_domain', newId('rd'), { domain, owner_id: 'usr_alice' })
      assert.equal((await world.alice.bind('https', { Domain: name })).Error, '')
    })

  const lookAlikes = [
    { ascii: 'shop', unicode: 'sh\u043ep' },
    { ascii: 'shop', unicode: 'sh\u00f8p' },
    { ascii: 'shop', unicode: 'sh\u00f3p' },
    { ascii: 'pay', unicode: '\u0440\u0430\u0443' },
    { ascii: 'www', unicode: 'w\u0461w' },
  ]
  for (const { ascii, unicode } of lookAlikes)
    test(`${domainToASCII(unicode)} looks like ${ascii} of another user`, async () => {
      await using world = await twoUsers()
      if (ascii !== 'www') assert.equal((await world.alice.bind('https', { Domain: ascii })).Error, '')
      const refused = await world.bob.bind('https', { Domain: domainToASCII(unicode) })
      assert.match(code(refused.Error), /ERR_NGROK_(90260|90262)/)
    })

  test('a name of another script that looks like no other is free', async () => {
    await using world = await twoUsers()
    await world.alice.bind('https', { Domain: 'shop' })
    for (const unicode of ['m\u00fcller', '\u043c\u0430\u0433\u0430\u0437\u0438\u043d', '\u5546\u5e97'])
      assert.equal((await world.bob.bind('https', { Domain: domainToASCII(unicode) })).Error, '', unicode)
  })
})
