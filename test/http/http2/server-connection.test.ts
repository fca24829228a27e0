import assert from 'node:assert/strict'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { suite, test } from 'node:test'
import type { Exchange } from '#http/exchange.ts'
import { noBody, type Framing } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { readBody, answerOf, ask, ManualBody, gateway, reply } from './support.ts'

const NO_ERROR = 0
const CANCEL = 8

suite('an HTTP/2 client', () => {
  test('gets a response, and the endpoint gets the request as text', async () => {
    await using host = await gateway(async () =>
      reply(200, 'hello', 'X-A: 1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n'),
    )
    const client = await host.client()
    const answer = await ask(client, {
      ':path': '/a/b?c=d',
      ':authority': 'Shop.Example.:8443',
      'x-one': 'caf\xe9',
      cookie: ['a=1', 'b=2'],
      'x-forwarded-for': '1.2.3.4',
      forwarded: 'for=1.2.3.4',
      te: 'trailers',
    })
    assert.equal(answer.text, 'hello')
    assert.equal(answer.headers['x-a'], '1')
    assert.equal(answer.headers['content-length'], '5')
    assert.deepEqual(answer.headers['set-cookie'], ['a', 'b'])
    assert.equal(answer.headers.date, undefined)
    const [exchange] = host.seen
    assert.ok(exchange)
    const { head } = exchange
    assert.equal(head.method, 'GET')
    assert.equal(head.target, '/a/b?c=d')
    assert.equal(head.path, '/a/b')
    assert.equal(head.host, 'shop.example')
    assert.equal(head.authority, 'Shop.Example.:8443')
    assert.equal(head.version, '2')
    assert.equal(head.fields.text, 'x-one: caf\xe9\r\nte: trailers\r\ncookie: a=1; b=2\r\n')
    assert.deepEqual(head.framing, { kind: 'none' })
  })

  test('sends content and trailers, and gets both', async () => {
    await using host = await gateway(async ({ body }) => {
      const { bytes, trailers } = await readBody(body)
      const fed = new ManualBody()
      const feed = async (): Promise<void> => {
        const sink = await fed.started.promise
        sink.data(Buffer.from('got '))
        sink.data(bytes)
        sink.end('grpc-status: 0\r\nx-two: 2\r\n')
      }
      void feed()
      return {
        head: { ...reply(200, '').head, framing: fed.framing, fields: new Fields(trailers) },
        body: fed,
      }
    })
    const client = await host.client()
    const answer = await ask(client, { ':path': '/', ':method': 'POST' }, 'content', { 'x-check': 'sum' })
    assert.equal(answer.text, 'got content')
    assert.equal(answer.headers['x-check'], 'sum')
    assert.equal(answer.trailers?.['grpc-status'], '0')
    assert.equal(answer.trailers['x-two'], '2')
  })

  test('has its content framed in chunks for an HTTP/1 upstream', async () => {
    await using host = await gateway(async ({ body }) => {
      assert.deepEqual(body.framing, { kind: 'chunked' })
      const { bytes } = await readBody(body, true)
      return reply(200, bytes.toString())
    })
    const client = await host.client()
    const answer = await ask(client, { ':path': '/', ':method': 'POST' }, 'content', { 'x-check': 'sum' })
    assert.equal(answer.text, '7\r\ncontent\r\n0\r\nx-check: sum\r\n\r\n')
  })

  test('has its content forwarded unchanged when its length is known', async () => {
    await using host = await gateway(async ({ body }) => {
      assert.deepEqual(body.framing, { kind: 'length', length: 7 })
      const { bytes } = await readBody(body, true)
      return reply(200, bytes.toString())
    })
    const client = await host.client()
    const answer = await ask(client, { ':path': '/', ':method': 'POST', 'content-length': 7 }, 'content')
    assert.equal(answer.text, 'content')
  })

  test('gets no content with HEAD, 204 and 304, but the announced length with HEAD and 304', async () => {
    const heads = { ...reply(200, '').head, announcedLength: 77 }
    await using host = await gateway(async ({ head }) => {
      if (head.method === 'HEAD') return { head: heads, body: noBody }
      return { head: { ...heads, status: Number(head.path.slice(1)) }, body: noBody }
    })
    const client = await host.client()
    const head = await ask(client, { ':path': '/', ':method': 'HEAD' })
    assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, '77', ''])
    const unchanged = await ask(client, { ':path': '/304' })
    assert.deepEqual([unchanged.status, unchanged.headers['content-length']], [304, '77'])
    const empty = await ask(client, { ':path': '/204' })
    assert.deepEqual([empty.status, empty.headers['content-length']], [204, undefined])
  })

  test('gets interim responses', async () => {
    await using host = await gateway(async exchange => {
      assert.equal(exchange.head.expectsContinue, true)
      const interim = reply(103, '', 'Link: </a.css>\r\n').head
      exchange.sendInformational({ ...interim, status: 100, fields: Fields.none })
      exchange.sendInformational(interim)
      return reply(200, 'done')
    })
    const client = await host.client()
    const answer = await ask(client, { ':path': '/', ':method': 'PUT', expect: '100-continue' }, '')
    assert.deepEqual(
      answer.interim.map(headers => [headers[':status'], headers.link]),
      [
        [100, undefined],
        [103, '</a.css>'],
      ],
    )
    assert.equal(answer.status, 200)
  })

  test('gets a response before its content is read, then RST_STREAM with NO_ERROR', async () => {
    await using host = await gateway(async () => reply(413, 'too much'))
    const client = await host.client()
    const stream = client.request({ ':path': '/', ':method': 'POST' })
    stream.write(Buffer.alloc(100_000))
    const answer = await answerOf(stream)
    assert.equal(answer.status, 413)
    assert.equal(answer.text, 'too much')
    assert.equal(answer.code, NO_ERROR)
  })

  test('gets 500 when the endpoint throws', async () => {
    await using host = await gateway(() => Promise.reject(new Error('a fault')))
    const answer = await ask(await host.client(), { ':path': '/' })
    assert.equal(answer.status, 500)
  })

  test('loses only one stream when a reader of its content throws', async () => {
    await using host = await gateway(({ body }) => {
      const thrown = (): never => {
        throw new Error('a fault')
      }
      body.read({ data: thrown, end: thrown, fail: thrown }, false)
      return body.framing.kind === 'none' ? Promise.resolve(reply(200, 'ok')) : new Promise(() => undefined)
    })
    const client = await host.client()
    for (const content of ['content', undefined])
      await ask(client, { ':path': '/', ':method': 'POST' }, content).then(answer =>
        assert.notEqual(answer.status, 200),
      )
    assert.equal(client.closed, false)
  })

  test('gets 502 for a head that HTTP/2 cannot carry, and for an upgrade', async () => {
    await using host = await gateway(async ({ head }) => {
      if (head.path === '/status') return reply(799, 'odd')
      return { ...reply(101, ''), upgraded: unused }
    })
    const client = await host.client()
    assert.equal((await ask(client, { ':path': '/status' })).status, 502)
    assert.equal((await ask(client, { ':path': '/upgrade' })).status, 502)
  })

  const framings: Framing[] = [{ kind: 'chunked' }, { kind: 'until_close' }, { kind: 'length', length: 100 }]
  for (const framing of framings)
    test(`gets a reset when a response of ${framing.kind} is aborted`, async () => {
      const fed = new ManualBody(framing)
      await using host = await gateway(async () => ({
        head: { ...reply(200, '').head, framing },
        body: fed,
      }))
      const stream = (await host.client()).request({ ':path': '/' })
      const sink = await fed.started.promise
      sink.data(Buffer.from('half'))
      const answer = answerOf(stream)
      await once(stream, 'data')
      sink.fail(new Error('gone'))
      assert.notEqual((await answer).code, NO_ERROR)
    })

  test('that resets a stream aborts its request, and its bodies are cancelled', async () => {
    const fed = new ManualBody()
    const started = Promise.withResolvers<Exchange>()
    await using host = await gateway(async exchange => {
      started.resolve(exchange)
      return { head: { ...reply(200, '').head, framing: fed.framing }, body: fed }
    })
    const stream = (await host.client()).request({ ':path': '/' })
    const { clientAbort } = await started.promise
    await once(stream, 'response')
    stream.close(CANCEL)
    await new Promise<void>(resolve => clientAbort.onAbort(resolve))
    await setImmediate()
    assert.equal(fed.cancelled, true)
  })

  test('that closes its socket aborts its requests', async () => {
    const started = Promise.withResolvers<Exchange>()
    await using host = await gateway(exchange => {
      started.resolve(exchange)
      return new Promise(() => undefined)
    })
    const client = await host.client()
    client.request({ ':path': '/' }).on('error', () => undefined)
    const { clientAbort } = await started.promise
    client.destroy()
    await new Promise<void>(resolve => clientAbort.onAbort(resolve))
    await host.connections[0]?.closed
  })

  test('that reads slowly pauses the response', async () => {
    const fed = new ManualBody()
    await using host = await gateway(async () => ({
      head: { ...reply(200, '').head, framing: fed.framing },
      body: fed,
    }))
    const stream = (await host.client()).request({ ':path': '/' })
    const sink = await fed.started.promise
    const piece = Buffer.alloc(64 * 1024, 'x')
    let sent = 0
    for (let round = 0; round < 200; round++) {
      for (; !fed.paused; sent += piece.length) sink.data(piece)
      await setImmediate()
    }
    assert.ok(sent < 2 * 1024 * 1024, `${sent} bytes went out to a reader that takes none`)
    fed.resumed = () => sink.end('')
    let got = 0
    stream.on('data', (bytes: Buffer) => (got += bytes.length))
    await once(stream, 'end')
    assert.equal(got, sent)
  })

  test('whose content stalls is reset', async () => {
    const failed = Promise.withResolvers<string>()
    await using host = await gateway(
      async ({ body }) => {
        await readBody(body).catch((error: Error) => failed.resolve(error.message))
        return reply(200, '')
      },
      { bodyPatience: 50 },
    )
    const stream = (await host.client()).request({ ':path': '/', ':method': 'POST' })
    stream.write('begin')
    const answer = await answerOf(stream)
    assert.equal(answer.code, CANCEL)
    assert.match(await failed.promise, /reset/)
  })

  test('that is idle for too long gets GOAWAY', async () => {
    await using host = await gateway(async () => reply(200, 'ok'), { idle: 50 })
    const client = await host.client()
    assert.equal((await ask(client, { ':path': '/' })).status, 200)
    await Promise.all([once(client, 'goaway'), once(client, 'close'), host.connections[0]?.closed])
    assert.ok(client.destroyed)
  })

  test('that never sends its settings is closed', async () => {
    await using host = await gateway(async () => reply(200, 'ok'), { settingsPatience: 50 })
    const socket = await host.raw()
    socket.resume()
    await once(socket, 'close')
    assert.ok(socket.destroyed)
  })

  test('completes its requests when the gateway drains, and then the connection is closed', async () => {
    const ready = Promise.withResolvers<void>()
    const proceed = Promise.withResolvers<void>()
    await using host = await gateway(async () => {
      ready.resolve()
      await proceed.promise
      return reply(200, 'late')
    })
    const client = await host.client()
    const pending = ask(client, { ':path': '/' })
    await ready.promise
    const [connection] = host.connections
    assert.equal(connection?.open, 1)
    connection.drain()
    await once(client, 'goaway')
    proceed.resolve()
    assert.equal((await pending).text, 'late')
    await connection.closed
  })

  test('that is idle is closed shortly after the gateway drains', async () => {
    await using host = await gateway(async () => reply(200, 'ok'), { drainPatience: 20 })
    const client = await host.client()
    host.connections[0]?.drain()
    await Promise.all([once(client, 'close'), host.connections[0]?.closed])
    assert.ok(client.destroyed)
  })

  test('gets a response to the request that is in flight when the gateway drains, and is then closed', async () => {
    await using host = await gateway(async () => reply(200, 'ok'))
    const client = await host.client()
    host.connections[0]?.drain()
    assert.equal((await ask(client, { ':path': '/' })).text, 'ok')
    await host.connections[0]?.closed
  })
})

const unused = {
  closed: false,
  peerFinished: false,
  attach: () => undefined,
  detach: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
  write: () => true,
  end: () => undefined,
  abort: () => undefined,
}
