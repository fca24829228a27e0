import assert from 'node:assert/strict'
import { once } from 'node:events'
import http2, { type ServerHttp2Stream } from 'node:http2'
import { createServer, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import { http2Backend } from '#gateway/backends/http2-upstream.ts'
import { h2c, tunnel, upstream } from '../../http/http2/upstream-server.ts'
import { answerOf, ask, gateway, SocketStream } from '../../http/http2/support.ts'

suite('an upstream that speaks HTTP/2', () => {
  test('gets the request unchanged, with the forwarding headers', async () => {
    let got: http2.IncomingHttpHeaders = {}
    await using behind = await upstream(
      h2c((stream, headers) => {
        got = headers
        stream.respond({ ':status': 201, 'x-under_score': 'caf\xe9', 'content-length': '5' })
        stream.end('hello')
      }),
    )
    await using host = await gateway(behind.backend)
    const answer = await ask(await host.client(), {
      ':path': '/a?b',
      ':authority': 'shop.example',
      'x-forwarded-for': '6.6.6.6',
      te: 'trailers',
    })
    assert.deepEqual([answer.status, answer.text, answer.headers['x-under_score']], [201, 'hello', 'caf\xe9'])
    assert.equal(answer.headers['content-length'], '5')
    assert.equal(got[':path'], '/a?b')
    assert.equal(got[':authority'], 'shop.example')
    assert.equal(got[':scheme'], 'http')
    assert.equal(got['te'], 'trailers')
    assert.equal(got['x-forwarded-for'], '127.0.0.1')
    assert.equal(got['x-forwarded-proto'], 'https')
    assert.equal(got['x-forwarded-host'], 'shop.example')
    assert.equal(got['adit-request-id'], answer.headers['adit-request-id'])
  })

  test('exchanges bodies, trailers and interim responses with the client', async () => {
    await using behind = await upstream(
      h2c(stream => {
        stream.additionalHeaders({ ':status': 103, link: '</a>' })
        stream.respond({ ':status': 200 }, { waitForTrailers: true })
        stream.on('trailers', headers => {
          stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': `${headers['x-sum'] as string}!` }))
        })
        stream.pipe(stream)
      }),
    )
    await using host = await gateway(behind.backend)
    const request = { ':path': '/', ':method': 'POST' }
    const answer = await ask(await host.client(), request, 'echo', { 'x-sum': '7' })
    assert.equal(answer.text, 'echo')
    assert.equal(answer.trailers?.['x-sum'], '7!')
    assert.deepEqual(
      answer.interim.map(headers => headers.link),
      ['</a>'],
    )
  })

  test('may send ten interim responses, and no more', async () => {
    await using behind = await upstream(
      h2c((stream, headers) => {
        for (let count = Number(headers[':path']?.slice(1)); count > 0; count--)
          stream.additionalHeaders({ ':status': 103, link: `</${count}>` })
        stream.respond({ ':status': 200 })
        stream.end('done')
      }),
    )
    await using host = await gateway(behind.backend)
    const client = await host.client()
    const allowed = await ask(client, { ':path': '/10' })
    assert.deepEqual([allowed.status, allowed.interim.length, allowed.text], [200, 10, 'done'])
    const refused = await ask(client, { ':path': '/11' })
    assert.deepEqual([refused.status, refused.headers['adit-error-code']], [502, 'ERR_ADIT_3004'])
  })

  test('answers HEAD, 204 and 304 without content', async () => {
    await using behind = await upstream(
      h2c((stream, headers) => {
        const status = Number(headers[':path']?.slice(1))
        stream.respond(
          { ':status': status, 'content-length': status === 204 ? undefined : '77' },
          { endStream: true },
        )
      }),
    )
    await using host = await gateway(behind.backend)
    const client = await host.client()
    for (const [method, path, length] of [
      ['HEAD', '/200', '77'],
      ['GET', '/304', '77'],
      ['GET', '/204', undefined],
    ]) {
      const answer = await ask(client, { ':method': method, ':path': path })
      assert.deepEqual(
        [`/${answer.status}`, answer.headers['content-length'], answer.text],
        [path, length, ''],
      )
    }
  })

  test('serves all requests on one connection, and opens another when it is full', async () => {
    const waiting: ServerHttp2Stream[] = []
    const full = Promise.withResolvers<void>()
    const server = h2c(
      (stream, headers) => {
        if (headers[':path'] === '/first') stream.respond({ ':status': 200 }, { endStream: true })
        else if (waiting.push(stream) === 4) full.resolve()
      },
      { maxConcurrentStreams: 2 },
    )
    await using behind = await upstream(server)
    await using host = await gateway(behind.backend)
    const client = await host.client()
    await ask(client, { ':path': '/first' })
    const answers = [1, 2, 3, 4].map(() => ask(client, { ':path': '/' }))
    await full.promise
    assert.equal(behind.sockets.length, 2)
    for (const stream of waiting) stream.respond({ ':status': 200 }, { endStream: true })
    for (const answer of answers) assert.equal((await answer).status, 200)
  })

  test('serves thousands of requests on one connection, and gets no frame that it must count as invalid', async () => {
    // Node closes a connection after 1000 invalid frames.
    const rounds = 30
    await using behind = await upstream(
      h2c(stream => {
        stream.respond({ ':status': 200 }, { waitForTrailers: true })
        stream.on('wantTrailers', () => stream.sendTrailers({ 'x-a': 'b' }))
        stream.end('ok')
      }),
    )
    await using host = await gateway(behind.backend)
    const client = await host.client()
    for (let round = 0; round < rounds; round++) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => ask(client, { ':path': '/' })))
      assert.ok(answers.every(({ status, text }) => status === 200 && text === 'ok'))
    }
    assert.equal(behind.sockets.length, 1)
  })

  test('is reconnected after GOAWAY, and a refused request is sent again', async () => {
    let requests = 0
    await using behind = await upstream(
      h2c(stream => {
        if (++requests === 2) {
          stream.close(http2.constants.NGHTTP2_REFUSED_STREAM)
          return
        }
        stream.respond({ ':status': 200 })
        stream.end(String(requests))
        if (requests === 3) stream.session?.close()
      }),
    )
    await using host = await gateway(behind.backend)
    const client = await host.client()
    assert.equal((await ask(client, { ':path': '/' })).text, '1')
    assert.equal((await ask(client, { ':path': '/' })).text, '3')
    assert.equal((await ask(client, { ':path': '/' })).text, '4')
    assert.equal(behind.sockets.length, 2)
  })

  test('that closes before it responds, resets, or is silent causes 502 or 504', async () => {
    await using behind = await upstream(
      h2c((stream, headers) => {
        if (headers[':path'] === '/reset') stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
        if (headers[':path'] === '/close') stream.session?.socket.destroy()
      }),
      { patience: 100 },
    )
    await using host = await gateway(behind.backend)
    const client = await host.client()
    const codes: unknown[] = []
    for (const path of ['/reset', '/close', '/silence']) {
      const answer = await ask(client, { ':path': path })
      codes.push([answer.status, answer.headers['adit-error-code']])
    }
    assert.deepEqual(codes, [
      [502, 'ERR_ADIT_90038'],
      [502, 'ERR_ADIT_90038'],
      [504, 'ERR_ADIT_90039'],
    ])
  })

  test('that aborts its response resets the client', async () => {
    const begun = Promise.withResolvers<ServerHttp2Stream>()
    await using behind = await upstream(
      h2c(stream => {
        // Only so does node's server reset a stream without ending it first.
        stream.respond({ ':status': 200 }, { waitForTrailers: true })
        stream.write('half')
        begun.resolve(stream)
      }),
    )
    await using host = await gateway(behind.backend)
    const stream = (await host.client()).request({ ':path': '/' })
    const answer = answerOf(stream)
    await once(stream, 'data')
    const far = await begun.promise
    far.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
    assert.equal((await answer).code, http2.constants.NGHTTP2_INTERNAL_ERROR)
  })

  test('is reset when the client disconnects', async () => {
    const arrived = Promise.withResolvers<ServerHttp2Stream>()
    await using behind = await upstream(h2c(stream => arrived.resolve(stream)))
    await using host = await gateway(behind.backend)
    const stream = (await host.client()).request({ ':path': '/' })
    const far = await arrived.promise
    stream.close(http2.constants.NGHTTP2_CANCEL)
    await new Promise(resolve => far.once('close', resolve))
    assert.equal(far.rstCode, http2.constants.NGHTTP2_CANCEL)
  })

  test('that stops an upload early has its whole response delivered', async () => {
    await using behind = await upstream(
      h2c(stream => {
        stream.respond({ ':status': 413 })
        stream.end('too much')
        stream.close(http2.constants.NGHTTP2_NO_ERROR)
      }),
    )
    await using host = await gateway(behind.backend)
    const stream = (await host.client()).request({ ':path': '/', ':method': 'POST' })
    stream.write(Buffer.alloc(10_000))
    const answer = await answerOf(stream)
    assert.deepEqual([answer.status, answer.text], [413, 'too much'])
  })

  const others: Record<string, [string, (socket: Socket) => void]> = {
    'speaks HTTP/1 instead': [
      'ERR_ADIT_3004',
      socket =>
        socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')),
    ],
    'closes at once': ['ERR_ADIT_8012', socket => socket.destroy()],
  }
  for (const [name, [code, handle]] of Object.entries(others))
    test(`that ${name} causes 502`, async () => {
      await using behind = await upstream(createServer(handle))
      await using host = await gateway(behind.backend)
      const client = await host.client()
      for (const request of [{ ':path': '/' }, { ':path': '/', ':method': 'POST' }]) {
        const answer = await ask(client, request, request[':method'] && 'content')
        assert.deepEqual([answer.status, answer.headers['adit-error-code']], [502, code])
      }
    })

  test('whose connection is lost at once is not reconnected in a loop', async () => {
    await using behind = await upstream(createServer())
    let dialled = 0
    const backend = http2Backend({
      dial: async () => {
        dialled++
        const stream = await SocketStream.to(behind.port)
        stream.abort()
        return stream
      },
      tunnel,
    })
    await using host = await gateway(backend)
    const answer = await ask(await host.client(), { ':path': '/' })
    assert.deepEqual([answer.status, answer.headers['adit-error-code'], dialled], [502, 'ERR_ADIT_8012', 1])
  })

  test('that cannot be reached causes 502', async () => {
    const backend = http2Backend({ dial: () => Promise.reject(new Error('refused')), tunnel })
    await using host = await gateway(backend)
    const answer = await ask(await host.client(), { ':path': '/' })
    assert.deepEqual([answer.status, answer.headers['adit-error-code']], [502, 'ERR_ADIT_8012'])
  })
})
