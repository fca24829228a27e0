import assert from 'node:assert/strict'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:net'
import { suite, test } from 'node:test'
import { selfSignedCertificate } from '#pki/self-signed.ts'
import { startFixture, statusOf } from './support.ts'
import { steady } from '../../support/until.ts'
import { tunnelRecord } from '../../support/records.ts'

const GET = 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n'

/** A service that responds with the request it got. */
const echo = (): Server =>
  createHttp((request, response) => {
    void bodyOf(request).then(body =>
      response.end(
        JSON.stringify({
          method: request.method,
          url: request.url,
          headers: request.headers,
          body,
          trailers: request.trailers,
        }),
      ),
    )
  })

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const piece of request) body += String(piece)
  return body
}

interface Echoed {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly trailers: Record<string, string>
}

const read = (body: string): Echoed => JSON.parse(body) as Echoed

suite('requests through a tunnel', () => {
  test('get their response, and the connection serves the next one', async () => {
    await using set = await startFixture({ upstream: echo() })
    const client = await set.connect()
    for (let count = 0; count < 3; count++) {
      client.send(`GET /a?b=${count} HTTP/1.1\r\nHost: app.test\r\nX-Own: 1\r\n\r\n`)
      const { status, body, head } = await client.answer()
      const { url, headers } = read(body)
      assert.deepEqual(
        [status, url, headers['host'], headers['x-own']],
        [200, `/a?b=${count}`, 'app.test', '1'],
      )
      assert.doesNotMatch(head, /\r\n(?:connection|keep-alive):/i)
    }
    assert.equal(set.dialled.length, 1)
  })

  test('that are pipelined are served in order, one at a time', async () => {
    await using set = await startFixture({ upstream: echo() })
    const client = await set.connect()
    const requests = Array.from(
      { length: 50 },
      (_, index) => `POST /${index} HTTP/1.1\r\nHost: app.test\r\nContent-Length: 3\r\n\r\nabc`,
    )
    client.send(requests.join(''))
    for (let index = 0; index < 50; index++) {
      const { url, body } = read((await client.answer()).body)
      assert.deepEqual([url, body], [`/${index}`, 'abc'])
    }
    assert.equal(set.dialled.length, 1)
  })

  test('that are pipelined are buffered within a bound', async () => {
    const first = Promise.withResolvers<ServerResponse>()
    let requests = 0
    const upstream = createHttp((_, response) => {
      if (requests++ === 0) first.resolve(response)
      else response.end('later')
    })
    await using set = await startFixture({ upstream, limits: { maxRequests: 1_000_000 } })
    const client = await set.connect()
    const flood = GET.repeat(200_000)
    client.send(flood)
    const running = await first.promise
    await steady(() => client.socket.writableLength)
    // What the kernel's buffers do not hold must still be buffered by the client.
    assert.ok(client.socket.writableLength > 0)
    running.end('first')
    await client.until(text => text.split('later').length > 500)
  })

  test('carry chunks and trailers in both directions', async () => {
    const upstream = createHttp((request, response) => {
      let body = ''
      request.on('data', piece => (body += String(piece)))
      request.on('end', () => {
        response.writeHead(200, { trailer: 'x-sum' })
        response.write(body)
        response.addTrailers({ 'x-sum': String(request.trailers['x-sum']) })
        response.end()
      })
    })
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send(
      'POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n' +
        '5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 42\r\n\r\n',
    )
    const { head, body } = await client.answer()
    assert.match(head, /transfer-encoding: chunked/i)
    assert.match(body, /^b\r\nhello world\r\n0\r\nx-sum: 42\r\n\r\n$/)
  })

  test('with HEAD, and responses 204 and 304, have no content and keep the connection open', async () => {
    const upstream = createHttp((request, response) => {
      response.statusCode = Number(request.url?.slice(1))
      if (request.method === 'HEAD') response.setHeader('content-length', '5')
      response.end()
    })
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send('HEAD /200 HTTP/1.1\r\nHost: app.test\r\n\r\n')
    assert.match(
      await client.received('\r\n\r\n'),
      /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*Content-Length: 5\r\n\r\n$/,
    )
    client.text = ''
    for (const status of [204, 304]) {
      client.send(`GET /${status} HTTP/1.1\r\nHost: app.test\r\n\r\n`)
      const answer = await client.answer()
      assert.deepEqual([answer.status, answer.body], [status, ''])
      assert.doesNotMatch(answer.head, /content-length|transfer-encoding/i)
    }
    assert.equal(set.dialled.length, 1)
  })

  test('have forwarding headers of the gateway, whatever the client sends', async () => {
    await using set = await startFixture({ upstream: echo() })
    const client = await set.connect()
    client.send(
      'GET / HTTP/1.1\r\nHost: App.test:8080\r\nX-FORWARDED-FOR: 1.2.3.4\r\nx-forwarded-proto: https\r\n' +
        'X-Forwarded-Host: evil\r\nForwarded: for=1.2.3.4\r\nX-Real-IP: 1.2.3.4\r\nX-Forwarded-Port: 1\r\n' +
        'Adit-Request-Id: rq_1\r\n\r\n',
    )
    const { head, body } = await client.answer()
    const { headers } = read(body)
    assert.match(String(headers['adit-request-id']), /^rq_\w{10,}$/)
    assert.equal(headers['adit-request-id'], /^adit-request-id: (\S+)/im.exec(head)?.[1])
    assert.equal(headers['x-forwarded-for'], '127.0.0.1')
    assert.equal(headers['x-forwarded-proto'], 'http')
    assert.equal(headers['x-forwarded-host'], 'App.test:8080')
    for (const name of ['forwarded', 'x-real-ip', 'x-forwarded-port']) assert.equal(headers[name], undefined)
  })

  test('lose their hop-by-hop fields, and no others', async () => {
    await using set = await startFixture({ upstream: echo() })
    const client = await set.connect()
    client.send(
      'GET / HTTP/1.1\r\nX-Hop: 1\r\nHost: app.test\r\nConnection: keep-alive, x-hop\r\n' +
        'Keep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nAuthorization: Basic eA==\r\n\r\n',
    )
    const { headers } = read((await client.answer()).body)
    for (const name of ['x-hop', 'keep-alive', 'proxy-connection']) assert.equal(headers[name], undefined)
    assert.equal(headers['authorization'], 'Basic eA==')
    assert.equal(headers['te'], 'trailers')
  })

  test('of HTTP/1.0 get a response without chunks', async () => {
    const upstream = createHttp((_, response) => {
      response.write('part')
      setImmediate(() => response.end('end'))
    })
    await using set = await startFixture({ upstream })
    const text = await set.exchange('GET / HTTP/1.0\r\nHost: app.test\r\nConnection: keep-alive\r\n\r\n')
    assert.match(text, /\r\nConnection: close\r\n\r\npartend$/)
    assert.doesNotMatch(text, /transfer-encoding/i)
  })

  test('of HTTP/1.0 keep the connection open with keep-alive', async () => {
    await using set = await startFixture({ upstream: echo() })
    const client = await set.connect()
    for (let count = 0; count < 2; count++) {
      client.send('POST / HTTP/1.0\r\nHost: app.test\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na')
      assert.match((await client.answer()).head, /\r\nConnection: keep-alive\r\n/)
    }
    client.send('GET / HTTP/1.0\r\nHost: app.test\r\n\r\n')
    assert.match(await client.readToEnd(), /\r\nConnection: close\r\n/)
  })

  test('are limited in number for each connection, and the last closes it', async () => {
    await using set = await startFixture({ upstream: echo(), limits: { maxRequests: 3 } })
    const client = await set.connect()
    client.send(GET.repeat(5))
    const text = await client.readToEnd()
    assert.equal(text.match(/HTTP\/1\.1 200/g)?.length, 3)
    assert.equal(text.match(/Connection: close/g)?.length, 1)
  })

  test('that are pipelined are rejected like the first', async () => {
    await using set = await startFixture({ upstream: echo() })
    const client = await set.connect()
    client.send(`${GET}get / HTTP/1.1\r\nHost: app.test\r\n\r\n${GET}`)
    assert.equal((await client.answer()).status, 200)
    assert.equal(statusOf(await client.readToEnd()), 400)
  })

  test('over TLS are served too, small and large', async () => {
    const { certificatePem, privateKeyPem } = await selfSignedCertificate({
      commonName: 'app.test',
      organization: 'test',
      years: 1,
    })
    const upstream = createHttp((request, response) => void request.pipe(response))
    await using set = await startFixture({
      upstream,
      tls: { key: privateKeyPem.reveal(), cert: certificatePem },
    })
    const client = await set.connect()
    for (const size of [1, 100, 5_000_000]) {
      const sent = 'x'.repeat(size)
      client.send(`POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: ${size}\r\n\r\n${sent}`)
      const { status, body } = await client.answer()
      assert.equal(status, 200)
      assert.equal(body.replaceAll(/[^x]/g, '').length, size)
    }
    client.send('BROKEN\r\n\r\n')
    assert.equal(statusOf(await client.readToEnd()), 400)
  })

  test('whose response has no length end with the connection', async () => {
    const upstream = createServer(socket => {
      socket.once('data', () => socket.end('HTTP/1.0 200 Fine by me\r\nX-A: 1\r\n\r\nall of it'))
    })
    await using set = await startFixture({ upstream })
    const text = await set.exchange(GET)
    assert.match(
      text,
      /^HTTP\/1\.1 200 Fine by me\r\nX-A: 1\r\nadit-request-id: \w+\r\nConnection: close\r\n\r\nall of it$/,
    )
  })
})

suite('a tunnel', () => {
  test('rewrites Host if configured', async () => {
    for (const [forwardsTo, host] of [
      ['http://localhost:8080', 'localhost:8080'],
      ['https://app.internal/base', 'app.internal'],
      ['[::1]:9000', '[::1]:9000'],
    ] as const) {
      const tunnel = tunnelRecord({ forwardsTo }, { HostHeaderRewrite: true })
      await using set = await startFixture({ upstream: echo(), tunnel })
      const client = await set.connect()
      client.send(GET)
      const { headers } = read((await client.answer()).body)
      assert.deepEqual([headers['host'], headers['x-forwarded-host']], [host, 'app.test'])
    }
  })

  for (const version of [1, 2] as const) {
    test(`sends a PROXY header of ${version}, on a connection for each request`, async () => {
      const seen: Buffer[] = []
      const upstream = createServer(socket => {
        socket.once('data', (bytes: Buffer) => {
          seen.push(bytes)
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
        })
      })
      await using set = await startFixture({ upstream, tunnel: tunnelRecord({}, { ProxyProto: version }) })
      const client = await set.connect()
      const from = client.socket.localPort ?? 0
      const expected =
        version === 1
          ? Buffer.from(`PROXY TCP4 127.0.0.1 127.0.0.1 ${from} ${set.port}\r\n`)
          : Buffer.from(
              `0d0a0d0a000d0a515549540a2111000c7f0000017f000001${from.toString(16).padStart(4, '0')}${set.port.toString(16).padStart(4, '0')}`,
              'hex',
            )
      for (let count = 0; count < 2; count++) {
        client.send(GET)
        assert.equal((await client.answer()).status, 200)
      }
      assert.equal(seen.length, 2)
      for (const bytes of seen) {
        assert.deepEqual(bytes.subarray(0, expected.length), expected)
        assert.equal(bytes.toString('latin1', expected.length, expected.length + 5), 'GET /')
      }
    })
  }

  test('sends its agent a header with the client address and the protocol', async () => {
    await using set = await startFixture({ upstream: echo() })
    const client = await set.connect()
    client.send(GET)
    await client.answer()
    assert.deepEqual(set.dialled, [
      {
        Id: 'tn_1',
        ClientAddr: `127.0.0.1:${client.socket.localPort}`,
        Proto: 'http',
        EdgeType: '0',
        PassthroughTLS: false,
      },
    ])
  })

  test('with labels sends its agent the edge type', async () => {
    await using set = await startFixture({ upstream: echo(), tunnel: tunnelRecord({ address: undefined }) })
    const client = await set.connect()
    client.send(GET)
    await client.answer()
    assert.deepEqual([set.dialled[0]?.Proto, set.dialled[0]?.EdgeType], ['', '3'])
  })
})
