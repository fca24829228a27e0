import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { accessTo, Sdk } from './agent-sdk/sdk.ts'
import { openWorld, type World } from './agent-sdk/world.ts'

suite('the published SDK @ngrok/ngrok: the errors that it gets', () => {
  let world: World
  before(async () => {
    world = await openWorld()
  })
  after(() => world[Symbol.asyncDispose]())

  const isReported = (errorCode: string, text: RegExp) => (error: Error) => {
    assert.match(error.message, text)
    assert.equal((error as Error & { errorCode?: string }).errorCode, errorCode)
    return true
  }

  test('an unknown authtoken, a malformed one, and none', async () => {
    const { sdk, port } = world
    const forward = (authtoken: string) => sdk.forward({ addr: port, authtoken, force_new_session: true })
    const unknown = /The authtoken is unknown: it was mistyped, or its credential was deleted\./
    await assert.rejects(
      forward('2abcdefghijklmnopqrstuvwxyz_1234567890abcdefghijkl'),
      isReported('ERR_NGROK_107', unknown),
    )
    await assert.rejects(forward('not a token'), isReported('ERR_NGROK_105', /is malformed/))
    await assert.rejects(forward(''), isReported('ERR_NGROK_4018', /sent no authtoken/))
  })

  test('a name that is in use', async () => {
    const { server, sdk, port } = world
    await using other = new Sdk(accessTo(server))
    const options = { addr: port, domain: 'taken.adit.localhost' }
    await other.forward(options)
    const reported = isReported(
      'ERR_NGROK_334',
      /The endpoint https:\/\/taken\.adit\.localhost:\d+ is already online, on the session ts_/,
    )
    await assert.rejects(sdk.forward(options), reported)
    await assert.rejects(other.forward(options), reported)
  })

  test('a name that is not reserved', async () => {
    const { sdk, port } = world
    const reported = isReported(
      'ERR_NGROK_90054',
      /The name shop\.example\.com is neither under adit\.localhost nor reserved/,
    )
    await assert.rejects(sdk.forward({ addr: port, domain: 'shop.example.com' }), reported)
  })

  test('a name that the ACL of its credential does not allow', async () => {
    const { server, port } = world
    const { body } = await server.api.post('/credentials', { acl: ['bind:mine.adit.localhost'] })
    await using sdk = new Sdk({ ...accessTo(server), authtoken: body.token })
    const options = { addr: port }
    await sdk.forward({ ...options, domain: 'mine.adit.localhost' })
    const reported = isReported('ERR_NGROK_90053', /may not bind .*its ACL allows only/)
    await assert.rejects(sdk.forward({ ...options, domain: 'yours.adit.localhost' }), reported)
  })

  test('the option TrafficPolicy, which this server does not have', async () => {
    const config = { traffic_policy: '{"on_http_request":[]}' }
    const reported = isReported(
      'ERR_NGROK_90058',
      /The option TrafficPolicy cannot be used: this server does not have it/,
    )
    await assert.rejects(world.sdk.forward({ addr: world.port, ...config }), reported)
  })

  test('a refusal does not affect the session and its other tunnels', async () => {
    const { sdk, port, visit } = world
    const { url } = await sdk.forward({ addr: port })
    await assert.rejects(sdk.forward({ addr: port, circuit_breaker: 2 }))
    assert.equal((await visit(url)).status, 200)
  })
})
