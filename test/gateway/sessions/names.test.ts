import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { newId } from '#base/ids.ts'
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

  test('another credential of the same user may have the other scheme', async () => {
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
