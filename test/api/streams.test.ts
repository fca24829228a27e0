import assert from 'node:assert/strict'
import { get } from 'node:http'
import { suite, test } from 'node:test'
import { newId } from '#base/ids.ts'
import { openPostgres } from '#store/postgres.ts'
import { streamReply } from '#api/answer.ts'
import type { Call } from '#api/call.ts'
import { HttpServer } from '#api/http-server.ts'
import { EventStream } from '#api/streams/event-stream.ts'
import { OpenStreams } from '#api/streams/open-streams.ts'
import { createClient } from '#client/client.ts'
import { ApiError } from '#client/errors.ts'
import { startPostgres } from '../support/postgres.ts'
import { newMember } from '../support/members.ts'
import { testLog } from '../support/secrets.ts'
import { startServer, type Caller, type TestServer } from '../support/server.ts'
import { World } from '../e2e/edges/world.ts'

const thrown = (error: unknown): never => {
  throw error
}

const clientOf = ({ url, token }: Caller) => createClient({ url, token })

/** Resolves once the stream is open: its first bytes have arrived. */
async function opened(
  api: Pick<Caller, 'url' | 'token'>,
  path: string,
  token = api.token,
): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const response = await fetch(api.url + path, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(response.status, 200, await textOf(response))
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  const reader = response.body?.getReader()
  assert.ok(reader)
  await reader.read()
  return reader
}

const textOf = async (response: Response): Promise<string> => (response.status === 200 ? '' : response.text())

/** What has arrived when `isEnough`. */
async function textUntil(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  isEnough: (text: string) => boolean,
): Promise<string> {
  let text = ''
  while (!isEnough(text)) {
    const { value, done } = await reader.read()
    if (done) return text
    text += Buffer.from(value).toString()
  }
  return text
}

const dataIn = (text: string): Record<string, string>[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))

async function refused(api: Caller, path: string): Promise<{ status: number; msg: string }> {
  const response = await fetch(api.url + path, { headers: { authorization: `Bearer ${api.token}` } })
  return { status: response.status, msg: ((await response.json()) as { msg: string }).msg }
}

suite('GET /requests/stream', () => {
  for (const workers of ['1', '2'])
    test(`reports requests as they end, filtered (workers: ${workers})`, async () => {
      await using world = await World.start({ workers })
      const edge = await world.edge(['a.example.test', 'b.example.test'])
      await world.route(edge, '/', await world.static((_, response) => response.end('fine')))
      const abort = new AbortController()
      const isOpen = Promise.withResolvers<void>()
      const items = clientOf(world.server.api).streams.requests(
        { host: 'a.example.test', path: '/wanted' },
        { signal: abort.signal, opened: isOpen.resolve },
      )
      const first = items.next()
      await isOpen.promise
      const reader = await opened(world.server.api, '/requests/stream')
      // Every process knows of both streams once the second one has seen a request that the first one does not want.
      await world.ask('b.example.test/other')
      await textUntil(reader, text => text.includes('b.example.test'))
      const { requestId } = await world.ask('a.example.test/wanted/1?secret=1')
      const { value } = await first
      assert.equal(value?.id, requestId)
      assert.deepEqual([value?.status, value?.path, value?.complete], [200, '/wanted/1', true])
      assert.equal(value?.uri, `${world.server.api.url}/requests/${requestId}`)
      const text = await textUntil(reader, all => all.includes(requestId))
      assert.match(text, new RegExp(`event: request\nid: ${requestId}\ndata: `))
      await reader.cancel()
      abort.abort()
      assert.equal((await items.next()).done, true)
    })

  test('rejects unknown filters, wrong values, and callers without a key', async () => {
    await using server = await startServer()
    assert.match((await refused(server.api, '/requests/stream?since=2026-01-01T00:00:00Z')).msg, /since/)
    assert.match((await refused(server.api, '/requests/stream?status=x')).msg, /404 or 5xx/)
    assert.equal((await fetch(`${server.api.url}/requests/stream`)).status, 401)
    const client = createClient({ url: server.api.url, token: 'wrong' })
    await assert.rejects(client.streams.requests().next(), ApiError)
  })

  test('has a limit for each key, and a stream that ends is not counted', async () => {
    await using server = await startServer()
    const readers = []
    for (let n = 0; n < 16; n++) readers.push(await opened(server.api, '/requests/stream'))
    const { status, msg } = await refused(server.api, '/requests/stream')
    assert.equal(status, 429)
    assert.match(msg, /already has 16 open streams/)
    await readers[0]?.cancel()
    for (let isOpen = false; !isOpen;) {
      const response = await fetch(`${server.api.url}/requests/stream`, {
        headers: { authorization: `Bearer ${server.api.token}` },
      })
      isOpen = response.status === 200
      await response.body?.cancel()
    }
  })

  test('stays open when its key is rate limited', async () => {
    await using server = await startServer({ rate_limit: '1' })
    const reader = await opened(server.api, '/requests/stream')
    assert.match((await refused(server.api, '/self')).msg, /may make 1 requests in 60 seconds/)
    assert.match(await textUntil(reader, text => text !== ''), /^: heartbeat$/m)
    await reader.cancel()
  })

  test('is not started for a client that has disconnected while it was authenticated', async () => {
    const streams = new OpenStreams({
      identify: async () => ({ id: 'usr_1', role: 'admin' }),
      changes: { listen: () => () => undefined },
      closing: new AbortController().signal,
      log: testLog(),
    })
    const call = { principal: { keyId: 'ak_1', id: 'usr_1', role: 'admin' } } as Call
    let feeds = 0
    const feed = () => {
      feeds++
      return () => void feeds--
    }
    const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const server = new HttpServer(thrown)
    server.on('GET', '/', async httpCall => {
      asked.resolve()
      await left.promise
      return streams.serve(httpCall, call, feed)
    })
    const { port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }))
    const client = get({ port: Number(port) }).on('error', () => undefined)
    await asked.promise
    client.destroy()
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    client.once('close', resolve)
    await closed
    left.resolve()
    await server.close()
    assert.equal(feeds, 0)
  })

  test('a client that does not read gets the number of dropped messages', async () => {
    let open = (_stream: EventStream): void => undefined
    const stream = new Promise<EventStream>(resolve => (open = resolve))
    const service = new HttpServer(thrown)
    service.on('GET', '/', httpCall => {
      const events = new EventStream()
      open(events)
      return streamReply(httpCall, events.body)
    })
    const url = await service.listen({ host: '127.0.0.1', port: 0 })
    const reader = await opened({ url, token: '' }, '/')
    // More than the kernel buffers and the server keep.
    const [count, data] = [200, JSON.stringify('x'.repeat(100_000))]
    for (let n = 0; n < count; n++) (await stream).send('request', data)
    const text = await textUntil(reader, all => all.includes('event: dropped'))
    const dropped = Number(/event: dropped\ndata: \{"count":(\d+)\}/.exec(text)?.[1])
    assert.equal(text.split('event: request').length - 1 + dropped, count)
    await reader.cancel()
    await service.close()
  })
})

suite('GET /changes/stream', () => {
  test('reports changes to those who may read them', async () => {
    await using server = await startServer()
    const member = await newMember(server.api)
    const admin = await opened(server.api, '/changes/stream')
    const other = await opened(server.api, '/changes/stream', member.token)
    const policies = await opened(server.api, '/changes/stream?kind=ip_policy')
    const { body: key } = await server.api.post('/api_keys', {})
    const { body: policy } = await server.api.post('/ip_policies', {})
    await server.api.patch(`/ip_policies/${policy.id}`, { description: 'x' })
    await server.api.delete(`/ip_policies/${policy.id}`)
    const expected = ['created', 'updated', 'deleted'].map(change => ({
      kind: 'ip_policy',
      id: policy.id,
      change,
    }))
    const isEnough = (text: string): boolean => text.includes('"deleted"')
    const seen = await Promise.all([admin, other, policies].map(reader => textUntil(reader, isEnough)))
    const [byAdmin = [], byOther, byKind] = seen.map(dataIn)
    assert.deepEqual(byAdmin[0], { kind: 'api_key', id: key.id, change: 'created' })
    assert.deepEqual(byAdmin.slice(1), expected)
    assert.deepEqual(byOther, expected)
    assert.deepEqual(byKind, expected)
  })

  test('names the kinds that it knows', async () => {
    await using server = await startServer()
    const { status, msg } = await refused(server.api, '/changes/stream?kind=ip_polices')
    assert.equal(status, 400)
    assert.match(msg, /"kind": "ip_polices" is not allowed\. Allowed: .*\bip_policy\b/)
  })

  test('reports changes by another server on the same database', async context => {
    const postgres = await startPostgres()
    context.after(() => postgres.stop())
    const database_url = await postgres.newDatabase()
    await using server = await startServer({ database_url })
    await using other = await openPostgres(database_url)
    const reader = await opened(server.api, '/changes/stream?kind=ip_policy')
    const row = { id: newId('ipp'), kind: 'ip_policy', parent: null, version: 1, body: '{}' }
    await other.commit([{ op: 'insert', entry: { row, refs: [], claims: [] } }])
    const [change] = dataIn(await textUntil(reader, text => text.includes('data:')))
    assert.deepEqual(change, { kind: 'ip_policy', id: row.id, change: 'created' })
  })

  test('ends when the server stops', async () => {
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    {
      await using server: TestServer = await startServer()
      reader = await opened(server.api, '/changes/stream')
    }
    assert.equal(await textUntil(reader, () => false), '')
  })
})
