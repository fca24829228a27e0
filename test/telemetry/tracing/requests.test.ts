import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import type { Span } from '#telemetry/tracing/request-span.ts'
import { factsOf, unreachableUrl } from './support.ts'
import {
  TRACE,
  SPAN,
  SAMPLED,
  UNSAMPLED,
  HOST,
  echoHeaders,
  echoedHeaders,
  spansOfKind,
  onlySpan,
  traced,
  toEdge,
  toTunnel,
  type Headers,
} from './world.ts'
import { until } from '../../support/until.ts'

function assertShape({ traceId, spanId, startTimeUnixNano, endTimeUnixNano, attributes }: Span): void {
  assert.match(traceId, /^[0-9a-f]{32}$/)
  assert.match(spanId, /^[0-9a-f]{16}$/)
  for (const time of [startTimeUnixNano, endTimeUnixNano]) assert.match(time, /^\d{19}$/)
  assert.ok(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano))
  const now = BigInt(Date.now()) * 1_000_000n
  assert.ok(now - BigInt(startTimeUnixNano) < 600_000_000_000n && now > BigInt(startTimeUnixNano))
  assert.equal(new Set(attributes.map(({ key }) => key)).size, attributes.length)
}

suite('a request that is traced', () => {
  test('has a span here and one for the service, which gets the latter', async () => {
    let ids: Headers = {}
    let requestId = ''
    let sent: Headers = {}
    const { collector, spans } = await traced(async world => {
      ids = await toEdge(world)
      const headers = { traceparent: SAMPLED, tracestate: 'a=b', baggage: 'c=d', 'user-agent': 'test/1' }
      const answer = await world.ask(`${HOST}/some/where?token=hush`, { headers })
      requestId = answer.requestId
      sent = echoedHeaders(answer)
    })
    const server = onlySpan(spans, 2)
    const client = onlySpan(spans, 3)
    for (const span of spans) assertShape(span)
    assert.equal(server.traceId, TRACE)
    assert.equal(server.parentSpanId, SPAN)
    assert.equal(server.flags, 0x301)
    assert.equal(server.name, 'GET /')
    assert.deepEqual(server.status, { code: 0 })
    assert.deepEqual(factsOf(server.attributes), {
      'http.request.method': 'GET',
      'url.scheme': 'https',
      'url.path': '/some/where',
      'server.address': HOST,
      'server.port': 443,
      'client.address': '127.0.0.1',
      'network.protocol.version': '1.1',
      'user_agent.original': 'test/1',
      'http.route': '/',
      'http.response.status_code': 200,
      'adit.request_id': requestId,
      'adit.edge_id': ids['edge'],
      'adit.route_id': ids['route'],
      'adit.backend_id': ids['backend'],
    })
    assert.equal(client.traceId, TRACE)
    assert.equal(client.parentSpanId, server.spanId)
    assert.equal(client.flags, 0x101)
    assert.equal(client.name, 'GET')
    assert.ok(BigInt(client.startTimeUnixNano) >= BigInt(server.startTimeUnixNano))
    assert.ok(BigInt(client.endTimeUnixNano) <= BigInt(server.endTimeUnixNano))
    assert.deepEqual(factsOf(client.attributes), {
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'adit.request_id': requestId,
      'adit.backend_id': ids['backend'],
    })
    assert.equal(sent['traceparent'], `00-${TRACE}-${client.spanId}-01`)
    assert.equal(sent['tracestate'], 'a=b')
    assert.equal(sent['baggage'], 'c=d')
    assert.equal(collector.calls[0]?.url, '/v1/traces')
    assert.equal(collector.batches[0]?.resource['service.name'], 'adit')
    assert.equal(collector.batches[0]?.resource['service.instance.id'], 'main')
  })

  test('begins a trace when it brings none, or none that is valid', async () => {
    const reported: Headers[] = []
    const { spans } = await traced(async world => {
      await toEdge(world)
      reported.push(echoedHeaders(await world.ask(HOST)))
      const headers = { traceparent: 'broken', tracestate: 'a=b' }
      reported.push(echoedHeaders(await world.ask(HOST, { headers })))
    })
    const servers = spansOfKind(spans, 2)
    const clients = spansOfKind(spans, 3)
    assert.equal(servers.length, 2)
    assert.notEqual(servers[0]?.traceId, servers[1]?.traceId)
    for (const [at, server] of servers.entries()) {
      assertShape(server)
      assert.ok(!('parentSpanId' in server))
      const client = clients.find(({ traceId }) => traceId === server.traceId)
      assert.equal(client?.parentSpanId, server.spanId)
      assert.equal(reported[at]?.['traceparent'], `00-${server.traceId}-${client?.spanId}-01`)
      assert.ok(!('tracestate' in (reported[at] ?? {})))
    }
  })

  test('is passed on as it came when it is not one of those that are', async () => {
    const { spans } = await traced(
      async world => {
        await toEdge(world)
        for (const traceparent of [UNSAMPLED, 'broken', SAMPLED.toUpperCase()]) {
          const headers = { traceparent, tracestate: 'a=b' }
          const reported = echoedHeaders(await world.ask(HOST, { headers }))
          assert.equal(reported['traceparent'], traceparent)
          assert.equal(reported['tracestate'], 'a=b')
        }
        assert.ok(!('traceparent' in echoedHeaders(await world.ask(HOST))))
      },
      { traces_sample: '0' },
    )
    assert.deepEqual(spans, [])
  })

  test('may come by HTTP/2, and through an agent', async () => {
    let tunnelId = ''
    let reported: Headers = {}
    const { spans } = await traced(async world => {
      const agent = await world.agent()
      const forwardTo = `127.0.0.1:${await world.service(echoHeaders)}`
      tunnelId = (await agent.listen({ proto: 'https', domain: HOST, forwardTo })).id
      const session = connectHttp2(`https://${HOST}:${world.server.bound.https?.port}`, {
        ca: world.ca,
        servername: HOST,
        lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
      })
      const stream = session.request({ ':path': '/x?token=hush', traceparent: SAMPLED })
      stream.setEncoding('utf8')
      reported = JSON.parse((await stream.toArray()).join('')) as Headers
      session.close()
      await once(session, 'close')
    })
    const server = onlySpan(spans, 2)
    const client = onlySpan(spans, 3)
    const facts = factsOf(server.attributes)
    assert.equal(server.name, 'GET')
    assert.equal(facts['network.protocol.version'], '2')
    assert.equal(facts['url.path'], '/x')
    assert.equal(facts['adit.tunnel_id'], tunnelId)
    assert.notEqual(facts['server.port'], 443)
    assert.ok(!('http.route' in facts))
    assert.equal(factsOf(client.attributes)['adit.tunnel_id'], tunnelId)
    assert.equal(reported['traceparent'], `00-${TRACE}-${client.spanId}-01`)
  })

  test('may be rejected by a module: then it has the module, and there is no span for a service', async () => {
    const { spans } = await traced(async world => {
      const edge = await world.edge([HOST])
      const policy = await world.make('/ip_policies', {})
      await world.make('/ip_policy_rules', { ip_policy_id: policy.id, cidr: '192.0.2.1/32', action: 'allow' })
      const modules = { ip_restriction: { ip_policy_ids: [policy.id] } }
      await world.route(edge, '/closed', await world.static(echoHeaders), modules)
      await until(() => world.ask(`${HOST}/closed/door`, { headers: { traceparent: SAMPLED } }), {
        fits: ({ status }) => status === 403,
      })
    })
    const server = spansOfKind(spans, 2).at(-1)
    const facts = factsOf(server?.attributes ?? [])
    assert.equal(spansOfKind(spans, 3).length, 0)
    assert.equal(server?.name, 'GET /closed')
    assert.equal(facts['http.response.status_code'], 403)
    assert.equal(facts['adit.module'], 'ip_restriction')
    assert.match(String(facts['adit.error_code']), /^ERR_ADIT_\d+$/)
    // An error of the client is not a failure of the gateway.
    assert.ok(!('error.type' in facts))
    assert.deepEqual(server?.status, { code: 0 })
  })

  test('may fail, at the service or on the way to it', async () => {
    const { spans } = await traced(async world => {
      const edge = await world.edge([HOST])
      const failing: RequestListener = (_request, response) => void response.writeHead(503).end()
      const gone = new URL(await unreachableUrl()).host
      const { id: unreachable } = await world.make('/backends/static', { address: gone })
      await world.route(edge, '/failing', await world.static(failing))
      await world.route(edge, '/unreachable', unreachable)
      await world.route(edge, '/saying', await world.fixedResponse('hello'))
      await until(() => world.ask(`${HOST}/saying`), { fits: ({ status }) => status === 200 })
      await world.ask(`${HOST}/failing`)
      await world.ask(`${HOST}/unreachable`)
      await world.ask(`${HOST}/saying`, { method: 'BREW' })
    })
    const failure = (path: string, kind: number) => {
      const server = spansOfKind(spans, 2).findLast(span => factsOf(span.attributes)['http.route'] === path)
      const span =
        kind === 2
          ? server
          : spansOfKind(spans, 3).find(({ parentSpanId }) => parentSpanId === server?.spanId)
      const facts = factsOf(span?.attributes ?? [])
      return [span?.name, span?.status.code, facts['http.response.status_code'], facts['error.type']]
    }
    assert.deepEqual(failure('/failing', 2), ['GET /failing', 2, 503, '503'])
    assert.deepEqual(failure('/failing', 3), ['GET', 2, 503, '503'])
    assert.deepEqual(failure('/unreachable', 2), ['GET /unreachable', 2, 502, 'static_unreachable'])
    assert.deepEqual(failure('/unreachable', 3), ['GET', 2, 502, 'static_unreachable'])
    assert.deepEqual(failure('/saying', 2), ['HTTP /saying', 0, 200, undefined])
    assert.deepEqual(failure('/saying', 3), [undefined, undefined, undefined, undefined])
    const brewed = spansOfKind(spans, 2).find(({ name }) => name === 'HTTP /saying')
    const facts = factsOf(brewed?.attributes ?? [])
    assert.equal(facts['http.request.method'], '_OTHER')
    assert.equal(facts['http.request.method_original'], 'BREW')
  })

  test('may be aborted by its client', async () => {
    const { spans } = await traced(async world => {
      const asked = Promise.withResolvers<void>()
      const left = Promise.withResolvers<void>()
      await toTunnel(world, ({ socket }) => {
        socket.on('close', () => left.resolve())
        asked.resolve()
      })
      const client = connect({ host: '127.0.0.1', port: world.server.bound.http?.port ?? 0 })
      client.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
      await asked.promise
      client.resetAndDestroy()
      await left.promise
    })
    for (const span of spans) {
      assertShape(span)
      assert.deepEqual(span.status, { code: 2 })
      assert.equal(factsOf(span.attributes)['error.type'], 'unanswered')
      assert.ok(!('http.response.status_code' in factsOf(span.attributes)))
    }
    assert.equal(onlySpan(spans, 3).parentSpanId, onlySpan(spans, 2).spanId)
  })

  test('lasts as long as its WebSocket, whose end is not a failure', async () => {
    const { spans } = await traced(async world => {
      const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
      await once(sockets, 'listening')
      sockets.on('connection', socket => socket.send('hello'))
      const agent = await world.agent()
      const { port } = sockets.address() as AddressInfo
      await agent.listen({ proto: 'http', domain: HOST, forwardTo: port })
      const url = `ws://127.0.0.1:${world.server.bound.http?.port}/`
      const client = new WebSocket(url, { headers: { host: HOST } })
      await once(client, 'message')
      client.close()
      await once(client, 'close')
      sockets.close()
    })
    const server = onlySpan(spans, 2)
    assert.deepEqual(server.status, { code: 0 })
    assert.equal(factsOf(server.attributes)['http.response.status_code'], 101)
    assert.equal(onlySpan(spans, 3).parentSpanId, server.spanId)
  })
})
