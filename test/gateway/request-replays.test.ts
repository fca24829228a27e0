import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { text } from 'node:stream/consumers'
import { assertRefused } from '../support/each-store.ts'
import { type Member, newMember } from '../support/members.ts'
import { secretText } from '../support/secrets.ts'
import { until } from '../support/until.ts'
import { CaptureWorld, valuesOf } from '../telemetry/capture/support.ts'

const HOST = 'hooks.example.test'
const TOKEN = `Bearer ${secretText('replayed')}`

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

interface Online {
  readonly id: string
  readonly hostport: string
  readonly proto: string
  readonly tunnel: { readonly id: string } | null
}

/** In one process and in two, of which only one has the capture. */
for (const workers of ['1', '2'])
  suite(`replays, with ${workers} gateway processes`, () => {
    let world: CaptureWorld
    let member: Member
    let stranger: Member
    const seen: Seen[] = []

    before(async () => {
      world = await CaptureWorld.start({ workers, traffic_full_capture: 'on', capture_body_kib: '1' })
      member = await newMember(world.server.api)
      stranger = await newMember(world.server.api)
      const service = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
        const { method, url, headers } = request
        seen.push({ method, url, headers, body: await text(request) })
        response.end(headers['x-version'] === '2' ? 'fixed' : 'broken')
      }
      const edge = await world.edge([HOST])
      const backend = await world.static((...given) => void service(...given))
      await world.route(edge, '/stripe', backend, {
        webhook_verification: { provider: 'stripe', secret: secretText('of the sender') },
      })
      await world.route(edge, '/', backend, { request_headers: { add: { 'x-module': 'ran' } } })
    })
    after(() => world[Symbol.asyncDispose]())

    const send = async (body = '{"n":1}') => {
      const headers = { authorization: TOKEN, 'x-version': '1' }
      const sent = await world.ask(`${HOST}/hook?id=7`, { method: 'POST', body, headers })
      await world.captured(sent.requestId)
      return sent.requestId
    }
    const replay = (id: string, edits: object = {}, options = {}) =>
      world.server.api.post(`/requests/${id}/replay`, edits, options)
    const last = (): Seen => seen.at(-1) ?? assert.fail('the service got no request')

    test('send the same request through all modules, with the real values of masked headers', async () => {
      const id = await send()
      const { status, body } = await replay(id)
      assert.equal(status, 200)
      assert.notEqual(body.request_id, id)
      const { method, url, headers, body: got } = last()
      assert.deepEqual([method, url, got], ['POST', '/hook?id=7', '{"n":1}'])
      assert.deepEqual([headers.authorization, headers['x-module']], [TOKEN, 'ran'])
      assert.equal(headers['adit-replay-of'], id)
      const { capture } = body
      assert.deepEqual([capture.replay_of, capture.complete, capture.response.body], [id, true, 'broken'])
      assert.deepEqual(valuesOf(capture.request, 'authorization'), ['[masked]'])
      const { body: shown } = await world.server.api.get(`/requests/${body.request_id}`)
      assert.deepEqual([shown.host, shown.status, shown.captured, shown.complete], [HOST, 200, true, true])
      assert.equal(shown.replay_of, id)
      const [module] = shown.modules
      assert.deepEqual([module.name, module.verdict], ['request_headers', 'passed'])
      assert.ok(module.microseconds >= 0 && shown.dial_ms !== undefined)
      const { body: first } = await world.server.api.get(`/requests/${id}`)
      assert.equal(first.replay_of, null)
      assert.ok(first.tls_ms > 0, 'its connection had a TLS handshake')
      assert.deepEqual((await world.read(body.request_id)).body, capture)
    })

    test('send changes, straight to the backend', async () => {
      const id = await send()
      const { body } = await replay(id, {
        via: 'agent',
        method: 'PUT',
        path: '/other?id=8',
        headers: [
          { name: 'X-Version', value: '2' },
          { name: 'authorization', value: null },
        ],
        body: Buffer.from('{"n":2}').toString('base64'),
        body_encoding: 'base64',
      })
      const { method, url, headers, body: got } = last()
      assert.deepEqual([method, url, got], ['PUT', '/other?id=8', '{"n":2}'])
      assert.deepEqual([headers['x-version'], headers.authorization], ['2', undefined])
      assert.equal(headers['x-module'], undefined)
      assert.equal(body.capture.response.body, 'fixed')
      const { body: audit } = await world.server.api.get('/audit_events?type=request_replayed.v0&limit=1')
      const [{ object, principal }] = audit.audit_events
      assert.deepEqual(object, {
        id: body.request_id,
        replay_of: id,
        via: 'agent',
        method: 'PUT',
        path: '/other',
      })
      assert.equal(principal.ip, '127.0.0.1')
    })

    test('of a webhook are signed again if requested, and refused where that is not possible', async () => {
      const secret = secretText('of the sender')
      const now = Math.floor(Date.now() / 1000)
      const sign = (time: number) =>
        `t=${time},v1=${createHmac('sha256', secret).update(`${time}.{}`).digest('hex')}`
      const headers = { 'stripe-signature': sign(now - 3600) }
      const sent = await world.ask(`${HOST}/stripe`, { method: 'POST', body: '{}', headers })
      assert.equal(sent.status, 403)
      const page = await world.captured(sent.requestId)
      assert.match(page.response.body, /webhook/i, 'the page of the gateway is captured')
      const count = seen.length
      assert.equal((await replay(sent.requestId)).body.capture.response.status, 403)
      assert.equal(seen.length, count)
      const { body } = await replay(sent.requestId, { resign: true })
      assert.equal(body.capture.response.status, 200)
      const [, time = ''] = /^t=(\d+),/.exec(String(last().headers['stripe-signature'])) ?? []
      assert.equal(last().headers['stripe-signature'], sign(Number(time)))
      assert.ok(Number(time) >= now)

      const plain = await send()
      const sentSoFar = seen.length
      for (const [id, edits] of [
        [plain, {}],
        [sent.requestId, { via: 'agent' }],
      ] as const)
        await assertRefused(world.server.api, {
          path: `/requests/${id}/replay`,
          body: { ...edits, resign: true },
          code: 90_420,
        })
      assert.equal(seen.length, sentSoFar)
    })

    test('of a truncated body need a body', async () => {
      const id = await send('x'.repeat(5000))
      const count = seen.length
      await assertRefused(world.server.api, { path: `/requests/${id}/replay`, body: {}, code: 90_415 })
      assert.equal(seen.length, count)
      assert.equal((await replay(id, { body: 'short' })).status, 200)
      assert.equal(last().body, 'short')
    })

    test('go to another endpoint of the same owner, or to one agent', async () => {
      const saying = (what: string) =>
        world.service((request, response) => response.end(`${what} at ${request.headers.host}`))
      const pool = { poolingEnabled: true, basicAuth: ['user:password'] }
      await world.tunnel(member, 'first.adit.localhost')
      for (const what of ['one', 'two'])
        await world.tunnel(member, 'pool.adit.localhost', { ...pool, forwardTo: await saying(what) })
      await world.tunnel(stranger, 'theirs.adit.localhost')
      const as = { token: member.token }
      const { body: online } = await until(() => world.server.api.get('/endpoints'), {
        fits: ({ body }) => body.endpoints.filter((each: Online) => each.proto === 'http').length === 4,
      })
      const at = (host: string): Online[] =>
        online.endpoints.filter(({ hostport }: Online) => hostport.startsWith(host))
      const { requestId } = await until(() => world.askPlain('first.adit.localhost', '/x'), {
        fits: ({ text: got }) => got === 'fine',
      })
      await world.captured(requestId)

      const endpoint = { endpoint_id: at('pool')[0]?.id }
      const guarded = await replay(requestId, endpoint, as)
      assert.equal(guarded.body.capture.response.status, 401, 'its modules run')
      const straight = await replay(requestId, { ...endpoint, via: 'agent' }, as)
      assert.match(straight.body.capture.response.body, /^(one|two) at pool\.adit\.localhost/)
      const reached = new Set<string>()
      for (const { tunnel } of at('pool')) {
        const { body } = await replay(requestId, { tunnel_id: tunnel?.id }, as)
        reached.add(body.capture.response.body)
        const { body: shown } = await world.server.api.get(`/requests/${body.request_id}`)
        assert.equal(shown.tunnel_id, tunnel?.id)
      }
      assert.deepEqual([...reached].toSorted(), [
        'one at first.adit.localhost',
        'two at first.adit.localhost',
      ])
      const { body: audit } = await world.server.api.get('/audit_events?type=request_replayed.v0&limit=1')
      assert.equal(audit.audit_events[0].object.tunnel_id, at('pool')[1]?.tunnel?.id)

      const theirs = at('theirs')[0]
      const edge = at(HOST)[0]
      for (const target of [
        { endpoint_id: theirs?.id },
        { tunnel_id: theirs?.tunnel?.id },
        { endpoint_id: edge?.id },
      ]) {
        const { status, body } = await replay(requestId, target, as)
        assert.deepEqual([status, body.error_code], [403, 'ERR_ADIT_90422'])
        assert.equal((await replay(requestId, target)).status, 200, 'admins may')
      }
      const path = `/requests/${requestId}/replay`
      for (const body of [
        { endpoint_id: `ep_${'0'.repeat(27)}` },
        { tunnel_id: 'x' },
        { endpoint_id: at('pool')[0]?.id, tunnel_id: at('pool')[0]?.tunnel?.id },
      ])
        await assertRefused(world.server.api, { path, body, code: 90_421 })
    })

    test('do not skip the modules of the present owner of a name', async () => {
      const name = 'passed-on.adit.localhost'
      const first = await world.tunnel(member, name)
      const { requestId } = await until(() => world.askPlain(name, '/'), {
        fits: ({ text: got }) => got === 'fine',
      })
      await world.captured(requestId)
      await first.close()
      await until(async () => {
        const { body } = await world.server.api.get('/endpoints')
        return body.endpoints.every(({ hostport }: Online) => !hostport.startsWith(name))
      })
      await world.tunnel(stranger, name, { basicAuth: ['user:password'] })
      await until(() => world.askPlain(name, '/'), { fits: ({ text: got }) => got !== '' })
      for (const via of ['agent', 'edge']) {
        const { status, body } = await replay(requestId, { via }, { token: member.token })
        assert.deepEqual([status, body.error_code], [403, 'ERR_ADIT_90422'])
      }
    })

    test('are rejected for other hosts, broken heads, members and unknown requests', async () => {
      const id = await send()
      const count = seen.length
      const path = `/requests/${id}/replay`
      const bad = [
        { headers: [{ name: 'Host', value: 'other.example.test' }] },
        { headers: [{ name: 'Content-Length', value: '3' }] },
        { headers: [{ name: 'Transfer-Encoding', value: 'chunked' }] },
        { headers: [{ name: 'x', value: 'y\r\nz: 1' }] },
        { headers: [{ name: 'x', value: 'š, whose low byte is a letter' }] },
        { method: 'GET /' },
        { path: 'no slash' },
      ]
      for (const body of bad) await assertRefused(world.server.api, { path, body, code: 90_416 })
      const refused = await replay(id, {}, { token: member.token })
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'ERR_ADIT_90414'])
      assert.equal((await replay(`rq_${'0'.repeat(27)}`)).status, 404)
      assert.equal(seen.length, count)
    })
  })
