import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { createEgress } from '#base/egress-client.ts'
import { buildDestination } from '#events/destinations/index.ts'
import { events, json, MARK, partsWith, refused, send, service, type Seen } from './support.ts'

const bytes = Buffer.from(`${MARK} of 32 bytes or so....`)
const secret = `whsec_${bytes.toString('base64')}`
// The reference implementation checks the time against its own clock.
const parts = partsWith({ now: Date.now })
const build = (url: string, key = secret) => buildDestination({ webhook: { url, secret: key } }, parts)
const verify = (seen: Seen, verifier: Webhook): unknown =>
  verifier.verify(seen.body.toString(), seen.headers as Record<string, string>)

suite('webhook', () => {
  test('sends each event by itself, in order, with a signature that the reference implementation accepts', async () => {
    await using server = await service((seen, response) => {
      verify(seen, new Webhook(secret))
      response.writeHead(204).end()
    })
    const batch = events(5)
    await send(build(`${server.url}/hook?a=1`), batch)
    assert.deepEqual(
      server.seen.map(({ body }) => body.toString()),
      batch.map(({ body }) => body),
    )
    assert.deepEqual(
      server.seen.map(({ headers }) => headers['webhook-id']),
      batch.map(({ id }) => id),
    )
    const [first = assert.fail('no call')] = server.seen
    assert.deepEqual(
      [first.method, first.path, first.headers['content-type']],
      ['POST', '/hook?a=1', 'application/json'],
    )
    assert.equal(server.connections(), 1)
    const other = new Webhook(`whsec_${Buffer.from('another').toString('base64')}`)
    assert.throws(() => verify(first, other), /No matching signature/)
    assert.throws(
      () => verify({ ...first, body: Buffer.from('{}') }, new Webhook(secret)),
      /No matching signature/,
    )
  })

  test('uses a secret of another form as it is written, and signs nothing without one', async () => {
    await using server = await service((_, response) => void response.end())
    await send(build(server.url, 'plain words'), events(1))
    await send(build(server.url, ''), events(1))
    const [plain = assert.fail('no call'), none = assert.fail('no call')] = server.seen
    verify(plain, new Webhook('plain words', { format: 'raw' }))
    assert.equal(none.headers['webhook-signature'], undefined)
  })

  test('stops at the first that is refused and tells which were taken', async () => {
    for (const [status, permanent] of [
      [500, false],
      [429, false],
      [408, false],
      [400, true],
      [403, true],
      [404, true],
      [410, true],
    ] as const) {
      await using server = await service((seen, response) =>
        seen.headers['webhook-id'] === 'ev_2'
          ? json(response, status, { said: secret })
          : void response.end(),
      )
      const error = await refused(send(build(server.url), events(5)))
      assert.deepEqual([error.permanent, [...error.taken]], [permanent, ['ev_0', 'ev_1']])
      assert.equal(error.message, `The webhook answered ${status}.`)
      assert.equal(server.seen.length, 3)
    }
  })

  test('follows no redirect', async () => {
    await using server = await service(
      (_, response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
    )
    const error = await refused(send(build(server.url), events(1)))
    assert.deepEqual([error.permanent, server.seen.length], [true, 1])
  })

  test('waits as long as it is asked to', async () => {
    await using server = await service((_, response) => json(response.setHeader('retry-after', '5'), 503, {}))
    assert.equal((await refused(send(build(server.url), events(1)))).retryAfterMs, 5000)
  })

  test('tries again when nobody is there, and not when the address is a private one', async () => {
    assert.equal(
      (await refused(send(build('http://127.0.0.1:1/?token=' + MARK), events(1)))).permanent,
      false,
    )
    const strict = { ...parts, egress: createEgress({ allow: [] }) }
    const destination = buildDestination({ webhook: { url: 'http://127.0.0.1:1/', secret } }, strict)
    const error = await refused(send(destination, events(1)))
    assert.equal(error.permanent, true)
    assert.match(error.message, /egress_allow/)
  })

  test('tells what was taken when it is stopped', async () => {
    const controller = new AbortController()
    await using server = await service((seen, response) =>
      seen.headers['webhook-id'] === 'ev_1' ? controller.abort() : void response.end(),
    )
    const error = await refused(build(server.url).send(events(3), controller.signal))
    assert.deepEqual([error.permanent, [...error.taken]], [false, ['ev_0']])
  })
})
