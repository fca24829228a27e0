import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { accessTo, Sdk, serving } from './agent-sdk/sdk.ts'
import { openWorld } from './agent-sdk/world.ts'
import { until } from '../../support/until.ts'

suite('the published SDK @ngrok/ngrok: endpoint pooling', () => {
  test('two agents share one URL, each with an endpoint of its own, and one continues without the other', async () => {
    await using world = await openWorld()
    await using other = new Sdk(accessTo(world.server))
    const open = async (sdk: Sdk, text: string) => {
      const session = await sdk.connect()
      const endpoint = ['httpEndpoint'] as const
      const name = ['domain', 'pool.adit.localhost'] as const
      return sdk.call(session, endpoint, name, ['poolingEnabled', true], ['listenAndServe', serving(text)])
    }
    const [one, two] = [await open(world.sdk, 'one'), await open(other, 'two')]
    assert.equal(one.url, two.url)
    assert.notEqual(one.id, two.id)
    const seen: string[] = []
    for (let count = 0; count < 6; count++) seen.push((await world.visit(one.url)).text)
    assert.equal(seen.filter(text => text === 'one /').length, 3)
    assert.equal(seen.filter(text => text === 'two /').length, 3)
    const { body } = await world.server.api.get('/endpoints')
    const urls = body.endpoints.map((endpoint: { public_url: string }) => endpoint.public_url)
    assert.deepEqual(urls, [one.url, one.url])
    await other.end()
    const listed = async () => (await world.server.api.get('/endpoints')).body.endpoints.length
    await until(listed, { fits: count => count === 1 })
    for (let count = 0; count < 4; count++) assert.equal((await world.visit(one.url)).text, 'one /')
  })
})
