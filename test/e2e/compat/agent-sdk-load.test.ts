import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { lookup } from './agent-sdk/visits.ts'
import { openWorld, type World } from './agent-sdk/world.ts'
import { listening } from '../../support/net.ts'

const LARGE = 64 * 1024 * 1024
const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

suite('the published SDK @ngrok/ngrok: load', () => {
  let world: World
  before(async () => {
    world = await openWorld()
  })
  after(() => world[Symbol.asyncDispose]())

  test('the first server-sent event arrives before the response ends', async () => {
    const goOn = Promise.withResolvers<void>()
    const server = createServer(async (_request, response) => {
      response.setHeader('content-type', 'text/event-stream').write('data: one\n\n')
      await goOn.promise
      response.end('data: two\n\n')
    })
    await using service = await listening(server)
    const { url } = await world.sdk.forward({ addr: service.port, schemes: 'http' })
    const sent = request(url, { lookup, agent: false }).end()
    const [answer] = await once(sent, 'response')
    let got = ''
    for await (const bytes of answer) {
      got += String(bytes)
      if (got === 'data: one\n\n') goOn.resolve()
    }
    assert.equal(got, 'data: one\n\ndata: two\n\n')
  })

  test('64 MiB down and 64 MiB up arrive unchanged', async () => {
    const bytes = randomBytes(LARGE)
    const sum = digest(bytes)
    const server = createServer(async (incoming, response) => {
      if (incoming.method === 'GET') return void response.end(bytes)
      const hash = createHash('sha256')
      for await (const chunk of incoming) hash.update(chunk)
      response.end(hash.digest('hex'))
    })
    await using service = await listening(server)
    const { url } = await world.sdk.forward({ addr: service.port })
    const down = await world.visit(url)
    assert.equal(digest(down.body), sum)
    const up = await world.visit(url, { method: 'POST', body: bytes })
    assert.equal(up.text, sum)
  })

  test('100 requests at once get each its own answer', async () => {
    const server = createServer(async (incoming, response) => {
      // Some overtake others.
      await delay((7 * Number(incoming.url?.slice(1))) % 20)
      response.end(`answer ${incoming.url}`)
    })
    await using service = await listening(server)
    const { url } = await world.sdk.forward({ addr: service.port })
    const paths = Array.from({ length: 100 }, (_, index) => `/${index}`)
    const answers = await Promise.all(paths.map(async path => (await world.visit(url + path)).text))
    assert.deepEqual(
      answers,
      paths.map(path => `answer ${path}`),
    )
  })

  test('600 concurrent requests to a slow service are queued: the SDK closes a session with 512 streams', async () => {
    let [now, most] = [0, 0]
    const crowded = Promise.withResolvers<void>()
    const release = crowded.promise.then(() => delay(1000))
    const server = createServer(async (_incoming, response) => {
      most = Math.max(most, ++now)
      // All wait until many are there, and then for those who should not be.
      if (now > 200) crowded.resolve()
      await release
      now--
      response.end('done')
    })
    await using service = await listening(server)
    const session = await world.sdk.connect(['metadata', 'crowded'])
    const to = `http://127.0.0.1:${service.port}`
    const { url } = await world.sdk.call(
      session,
      ['httpEndpoint'],
      ['scheme', 'http'],
      ['listenAndForward', to],
    )
    const sessions = async () => (await world.server.api.get('/tunnel_sessions')).body.tunnel_sessions
    const earlier = await sessions()
    const answers = await Promise.all(Array.from({ length: 600 }, () => world.visit(url)))
    assert.deepEqual(new Set(answers.map(({ text }) => text)), new Set(['done']))
    // All come from one address, which has half of the 480 that the gateway opens.
    assert.ok(most > 200 && most <= 240, `the service had ${most} requests at once`)
    assert.deepEqual(await sessions(), earlier)
    assert.equal((await world.visit(url)).text, 'done')
  })
})
