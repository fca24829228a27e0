import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { createEgress } from '#base/egress-client.ts'
import { buildDestination } from '#events/destinations/index.ts'
import type { EventTarget } from '#events/destinations/target.ts'
import { event, events, json, SECRET_MARK, partsWith, refused, send, service, type Seen } from './support.ts'

const bytes = Buffer.from(`${SECRET_MARK} of 32 bytes or so....`)
const secret = `whsec_${bytes.toString('base64')}`
// The reference implementation checks the time against its own clock.
const parts = partsWith({ now: Date.now })
const build = (url: string, key = secret, batch_size = 1) =>
  buildDestination({ webhook: { url, secret: key, batch_size } }, parts)
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

  test('stops at the first that is refused and reports which were accepted', async () => {
    for (const [status, permanent] of [
      [500, false],
      [429, false],
      [408, false],
      [400, true],
      [401, false],
      [403, false],
      [404, false],
      [410, false],
      [413, true],
      [422, true],
    ] as const) {
      await using server = await service((seen, response) =>
        seen.headers['webhook-id'] === 'ev_2'
          ? json(response, status, { said: secret })
          : void response.end(),
      )
      const error = await refused(send(build(server.url), events(5)))
      assert.deepEqual([error.permanent, [...error.taken]], [permanent, ['ev_0', 'ev_1']])
      assert.equal(error.message, `The webhook responded with ${status}.`)
      assert.equal(server.seen.length, 3)
    }
  })

  test('follows no redirect', async () => {
    await using server = await service(
      (_, response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
    )
    const error = await refused(send(build(server.url), events(1)))
    assert.deepEqual([error.permanent, error.misconfigured, server.seen.length], [false, true, 1])
  })

  test('waits for Retry-After', async () => {
    await using server = await service((_, response) => json(response.setHeader('retry-after', '5'), 503, {}))
    assert.equal((await refused(send(build(server.url), events(1)))).retryAfterMs, 5000)
  })

  test('retries when the connection is refused, and waits for another address when it is private', async () => {
    assert.equal(
      (await refused(send(build('http://127.0.0.1:1/?token=' + SECRET_MARK), events(1)))).permanent,
      false,
    )
    const strict = { ...parts, egress: createEgress({ allow: [] }) }
    const destination = buildDestination(
      { webhook: { url: 'http://127.0.0.1:1/', secret, batch_size: 1 } },
      strict,
    )
    const error = await refused(send(destination, events(1)))
    assert.deepEqual([error.permanent, error.misconfigured], [false, true])
    assert.match(error.message, /egress_allow/)
  })

  test('reports what was accepted when it is stopped', async () => {
    const controller = new AbortController()
    await using server = await service((seen, response) =>
      seen.headers['webhook-id'] === 'ev_1' ? controller.abort() : void response.end(),
    )
    const error = await refused(build(server.url).send(events(3), controller.signal))
    assert.deepEqual([error.permanent, [...error.taken]], [false, ['ev_0']])
  })
})

suite('webhook with several events in a POST', () => {
  const batched = (url: string, size: number) => build(url, secret, size)
  const taking = () =>
    service((seen, response) => {
      verify(seen, new Webhook(secret))
      response.writeHead(204).end()
    })
  const idsIn = ({ body }: Seen): string[] =>
    (JSON.parse(body.toString()) as { event_id: string }[]).map(({ event_id: id }) => id)

  test('holds up to so many in order, as an array that is signed as a whole', async () => {
    await using server = await taking()
    const batch = events(7)
    await send(batched(server.url, 3), batch)
    assert.deepEqual(server.seen.map(idsIn), [['ev_0', 'ev_1', 'ev_2'], ['ev_3', 'ev_4', 'ev_5'], ['ev_6']])
    assert.deepEqual(
      server.seen.flatMap(({ body }) => JSON.parse(body.toString())),
      batch.map(({ body }) => JSON.parse(body)),
    )
    assert.equal(new Set(server.seen.map(({ headers }) => headers['webhook-id'])).size, 3)
    const [first = assert.fail('no call')] = server.seen
    const cut = Buffer.from(`[${batch[0]?.body}]`)
    assert.throws(() => verify({ ...first, body: cut }, new Webhook(secret)), /No matching signature/)
  })

  test('takes events for whole POSTs, up to a hundred of them and a thousand events at a time', () => {
    const limits = [1, 2, 7, 100, 501, 1000].map(size => batched('http://127.0.0.1:1/', size).maxEvents)
    assert.deepEqual(limits, [100, 200, 700, 1000, 501, 1000])
  })

  test('has one id for the same events, and another one for others', async () => {
    await using server = await taking()
    const destination = batched(server.url, 10)
    for (const batch of [events(4), events(4), events(3), events(4).toReversed()])
      await send(destination, batch)
    const [first, again, fewer, turned] = server.seen.map(({ headers }) => String(headers['webhook-id']))
    assert.match(first ?? '', /^evb_/)
    assert.equal(first, again)
    assert.equal(new Set([first, fewer, turned]).size, 3)
  })

  test('is retried from the POST that was refused, all of it, under the same id', async () => {
    let isUp = false
    await using server = await service((seen, response) =>
      isUp || !idsIn(seen).includes('ev_4') ? void response.end() : json(response, 503, { said: secret }),
    )
    const destination = batched(server.url, 3)
    const batch = events(8)
    const error = await refused(send(destination, batch))
    assert.deepEqual([error.permanent, [...error.taken]], [false, ['ev_0', 'ev_1', 'ev_2']])
    isUp = true
    await send(
      destination,
      batch.filter(({ id }) => !error.taken.has(id)),
    )
    assert.deepEqual(server.seen.map(idsIn), [
      ['ev_0', 'ev_1', 'ev_2'],
      ['ev_3', 'ev_4', 'ev_5'],
      ['ev_3', 'ev_4', 'ev_5'],
      ['ev_6', 'ev_7'],
    ])
    const [, tried, retried] = server.seen
    assert.equal(tried?.headers['webhook-id'], retried?.headers['webhook-id'])
    assert.deepEqual(tried?.body, retried?.body)
  })

  test('stays within a mebibyte, and sends what is longer alone', async () => {
    await using server = await taking()
    const batch = [
      event('ev_0', { pad: 400_000 }),
      event('ev_1', { pad: 400_000 }),
      event('ev_2', { pad: 400_000 }),
      event('ev_3', { pad: 1_200_000 }),
      event('ev_4'),
    ]
    await send(batched(server.url, 1000), batch)
    assert.deepEqual(server.seen.map(idsIn), [['ev_0', 'ev_1'], ['ev_2'], ['ev_3'], ['ev_4']])
    const sizes = server.seen.map(({ body }) => body.length)
    assert.ok(sizes.every((size, at) => size <= 1_048_576 || at === 2))
  })

  test('counts the separators of events too', async () => {
    await using server = await taking()
    const [one = assert.fail('no event')] = events(1)
    const most = 1000
    const pad = Math.floor(1_048_576 / most) - Buffer.byteLength(one.body)
    await send(
      batched(server.url, most),
      Array.from({ length: most }, () => event('ev_0', { pad })),
    )
    assert.ok(server.seen.every(({ body }) => body.length <= 1_048_576))
    assert.equal(server.seen.flatMap(idsIn).length, most)
  })

  test('is a single event for what was stored before there was a choice', async () => {
    await using server = await taking()
    const stored = JSON.parse(JSON.stringify({ webhook: { url: server.url, secret } })) as EventTarget
    const destination = buildDestination(stored, parts)
    await send(destination, events(2))
    assert.deepEqual(
      server.seen.map(({ headers }) => headers['webhook-id']),
      ['ev_0', 'ev_1'],
    )
    assert.equal(destination.maxEvents, 100)
  })
})
