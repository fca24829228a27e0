import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { after, before, suite, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { assertRefused } from '../../support/each-store.ts'
import { newMember } from '../../support/members.ts'
import { closed, listening } from '../../support/net.ts'
import { secretText } from '../../support/secrets.ts'
import { until } from '../../support/until.ts'
import { CaptureWorld, valuesOf } from './support.ts'

const HOST = 'shop.example.test'
const BODY_BYTES = 64 * 1024
const MEMORY_BYTES = 1_048_576

/** Echoes requests; some paths have special responses. */
function shop(request: IncomingMessage, response: ServerResponse): void {
  const { url = '' } = request
  if (url.startsWith('/large')) {
    request.resume().on('end', () => response.end(Buffer.alloc(4 * BODY_BYTES, 'x')))
    return
  }
  if (url === '/half') {
    response.writeHead(200, { 'content-length': 100 }).write('only this')
    return
  }
  response.setHeader('set-cookie', `sid=${secretText('set cookie')}`)
  response.setHeader('content-type', 'text/plain')
  request.on('data', part => response.write(part))
  request.on('end', () => response.end('.'))
}

suite('captures at the gateway', () => {
  let world: CaptureWorld
  let edge: string
  let route: string
  const ask = (path: string, options = {}) => world.ask(`${HOST}${path}`, options)

  before(async () => {
    world = await CaptureWorld.start({ capture_memory_mib: '1', capture_body_kib: '64' })
    edge = await world.edge([HOST, 'other.example.test'])
    const backend = await world.static(shop)
    await world.route(edge, '/', backend)
    route = await world.route(edge, '/packed', backend, { compression: {} })
  })
  after(() => world[Symbol.asyncDispose]())

  test('record nothing where they are off', async () => {
    const { requestId } = await ask('/quiet', { method: 'POST', body: 'hello' })
    assert.equal(await world.isCaptured(requestId), false)
    await assertRefused(world.server.api, {
      method: 'GET',
      path: `/requests/${requestId}/capture`,
      status: 404,
      code: 90_413,
      says: /was not captured.*POST \/captures/,
    })
    assert.equal((await world.read(`rq_${'0'.repeat(27)}`)).body.error_code, undefined)
    assert.equal(await world.heldBytes(), 0)
  })

  test('record a request and its response, and mask secrets', async () => {
    const id = await world.capture({ host: HOST.toUpperCase() }, () => ask('/on'))
    const { requestId, text } = await ask('/orders?page=2', {
      method: 'POST',
      body: '{"n":1}',
      headers: {
        authorization: `Bearer ${secretText('authorization')}`,
        cookie: `sid=${secretText('cookie')}`,
        'content-type': 'application/json',
        'x-seen': 'yes',
      },
    })
    assert.equal(text, '{"n":1}.')
    assert.equal(await world.isCaptured(requestId), true)
    const { request, response, complete, request_id: shownId } = await world.captured(requestId)
    assert.deepEqual([shownId, complete], [requestId, true])
    assert.deepEqual([request.method, request.target], ['POST', '/orders?page=2'])
    assert.deepEqual(valuesOf(request, 'host'), [HOST])
    assert.deepEqual(valuesOf(request, 'x-seen'), ['yes'])
    for (const name of ['authorization', 'cookie']) assert.deepEqual(valuesOf(request, name), ['[masked]'])
    const { body, body_encoding: encoding, body_bytes: bytes, truncated } = request
    assert.deepEqual([body, encoding, bytes, truncated], ['{"n":1}', 'text', 7, false])
    assert.deepEqual([response.status, response.reason], [200, 'OK'])
    assert.deepEqual(valuesOf(response, 'set-cookie'), ['[masked]'])
    // In chunks, which are not part of the body.
    assert.deepEqual([response.body, response.body_bytes, response.truncated], ['{"n":1}.', 8, false])
    assert.equal((await world.server.api.delete(`/captures/${id}`)).status, 204)
    await world.until(() => ask('/off'), false)
  })

  test('record HTTP/2', async () => {
    const id = await world.capture({ edge_id: edge }, () => ask('/on'))
    const { requestId, text } = await world.ask2(HOST, '/two', 'second')
    assert.equal(text, 'second.')
    const { request, response } = await world.captured(requestId)
    assert.deepEqual([request.method, request.target, request.body], ['POST', '/two', 'second'])
    assert.equal(response.body, 'second.')
    await world.server.api.delete(`/captures/${id}`)
  })

  test('record one route only, with its compressed bodies', async () => {
    await world.until(() => ask('/off'), false)
    const gzip = { 'accept-encoding': 'gzip' }
    const id = await world.capture({ route_id: route }, () => ask('/packed'))
    const elsewhere = await ask('/plain', { method: 'POST', body: 'elsewhere' })
    assert.equal(await world.isCaptured(elsewhere.requestId), false)
    const body = 'a'.repeat(5000)
    const { requestId } = await ask('/packed', { method: 'POST', body, headers: gzip })
    const { response } = await world.captured(requestId)
    assert.deepEqual(valuesOf(response, 'content-encoding'), ['gzip'])
    assert.equal(response.body_encoding, 'base64')
    assert.equal(gunzipSync(Buffer.from(response.body, 'base64')).toString(), `${body}.`)
    await world.server.api.delete(`/captures/${id}`)
  })

  test('record requests through tunnels', async () => {
    const agent = await world.agent()
    const endpoint = await agent.listen({
      proto: 'http',
      domain: 'captured.adit.localhost',
      forwardTo: await world.service(shop),
    })
    const visit = () => world.askPlain('captured.adit.localhost', '/here?q=1')
    await world.capture({ host: 'captured.adit.localhost' }, visit)
    const { requestId } = await visit()
    const { request, response } = await world.captured(requestId)
    assert.deepEqual([request.target, request.body, response.body], ['/here?q=1', '', '.'])
    await endpoint.close()
  })

  test('record only the heads of an upgraded connection', async () => {
    const service = createServer().on('upgrade', (_, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\nconnection: upgrade\r\n\r\n')
      socket.pipe(socket)
    })
    await using listener = await listening(service)
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${listener.port}` })
    await world.route(edge, '/chat', backend.id)
    const id = await world.capture({ host: HOST }, () => ask('/on'))
    const socket = connectTls({ port: world.server.bound.https?.port ?? 0, servername: HOST, ca: world.ca })
    socket.setEncoding('latin1')
    let got = ''
    socket.on('data', (part: string) => (got += part))
    socket.write(`GET /chat HTTP/1.1\r\nhost: ${HOST}\r\nupgrade: echo\r\nconnection: upgrade\r\n\r\n`)
    await until(() => got.includes('\r\n\r\n'))
    socket.write('over the new protocol')
    await until(() => got.endsWith('over the new protocol'))
    const ended = closed(socket)
    socket.end()
    await ended
    const { body: list } = await world.server.api.get(`/requests?path=/chat&limit=1`)
    const { request, response } = (await world.read(list.requests[0].id)).body
    assert.deepEqual([request.target, request.body, request.body_bytes], ['/chat', '', 0])
    assert.deepEqual([response.status, response.body, response.body_bytes], [101, '', 0])
    await world.server.api.delete(`/captures/${id}`)
  })

  test('record what was sent to a client that disconnects', async () => {
    const id = await world.capture({ host: HOST }, () => ask('/on'))
    const below = connectTcp(world.server.bound.https?.port ?? 0, '127.0.0.1')
    const socket = connectTls({ socket: below, servername: HOST, ca: world.ca })
    let got = ''
    socket.setEncoding('latin1').on('data', (part: string) => (got += part))
    socket.write(`GET /half HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`)
    await until(() => got.endsWith('only this'))
    // An end alone could mean that it still reads.
    below.resetAndDestroy()
    const requestId = /adit-request-id: (\w+)/i.exec(got)?.[1] ?? ''
    await until(async () => (await world.server.api.get(`/requests/${requestId}`)).body.content_ms !== null)
    const { complete, response } = (await world.read(requestId)).body
    assert.deepEqual([complete, response.body, response.truncated], [false, 'only this', true])
    await world.server.api.delete(`/captures/${id}`)
  })

  test('keep the beginning of large bodies, and no more memory than allowed', async () => {
    const id = await world.capture({ host: HOST }, () => ask('/on'))
    const body = Buffer.alloc(2 * BODY_BYTES, 'y')
    const first = await ask('/large', { method: 'POST', body })
    assert.equal(first.text.length, 4 * BODY_BYTES)
    const { request, response } = await world.captured(first.requestId)
    assert.deepEqual(
      [request.body.length, request.body_bytes, request.truncated],
      [BODY_BYTES, 2 * BODY_BYTES, true],
    )
    assert.deepEqual(
      [response.body.length, response.body_bytes, response.truncated],
      [BODY_BYTES, 4 * BODY_BYTES, true],
    )
    const flood = Array.from({ length: 40 }, () => ask('/large', { method: 'POST', body }))
    const last = (await Promise.all(flood)).at(-1)
    assert.equal((await world.read(first.requestId)).status, 404)
    assert.equal(await world.isCaptured(first.requestId), false)
    assert.ok(await world.isCaptured((await ask('/last')).requestId))
    assert.equal(last?.status, 200)
    const held = await world.heldBytes()
    assert.ok(held > MEMORY_BYTES / 2 && held <= MEMORY_BYTES, `${held} bytes`)
    await world.server.api.delete(`/captures/${id}`)
  })

  test('of a busy owner do not evict those of others', async () => {
    const members = [await newMember(world.server.api), await newMember(world.server.api)] as const
    const [quiet, busy] = ['quiet.adit.localhost', 'busy.adit.localhost']
    const forwardTo = await world.service(shop)
    await world.tunnel(members[0], quiet, { forwardTo })
    await world.tunnel(members[1], busy, { forwardTo })
    for (const host of [quiet, busy]) await world.capture({ host }, () => world.askPlain(host, '/on'))
    const kept = await world.askPlain(quiet, '/kept')
    const early = await world.askPlain(busy, '/early')
    for (let round = 0; round < 5; round++)
      await Promise.all(Array.from({ length: 10 }, () => world.askPlain(busy, '/large')))
    assert.equal((await world.captured(kept.requestId)).request.target, '/kept')
    assert.equal((await world.read(early.requestId)).status, 404)
    const held = await world.heldBytes()
    assert.ok(held > MEMORY_BYTES / 2 && held <= MEMORY_BYTES, `${held} bytes`)
  })
})
