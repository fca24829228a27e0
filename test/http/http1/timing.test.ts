import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttp, type ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { suite, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { startFixture, statusOf } from './support.ts'
import { steady, until } from '../../support/until.ts'

const GET = 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n'
const UPGRADE = 'GET /socket HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n'
const pause = (milliseconds: number): Promise<void> => new Promise(done => setTimeout(done, milliseconds))

suite('100-continue', () => {
  test('is sent by the service, and then the content is forwarded', async () => {
    const upstream = createHttp((request, response) => void request.pipe(response))
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send('POST / HTTP/1.1\r\nHost: app.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n')
    assert.equal(await client.received('\r\n\r\n'), 'HTTP/1.1 100 Continue\r\n\r\n')
    client.send('hello')
    const { status, body } = await client.answer()
    assert.equal(status, 200)
    assert.match(body, /hello/)
    client.send(GET)
    assert.equal((await client.answer()).status, 200)
  })

  test('that is not sent closes the connection after the response', async () => {
    const upstream = createHttp()
    upstream.on('checkContinue', (_, response) => {
      response.statusCode = 413
      response.end('too large')
    })
    await using set = await startFixture({ upstream })
    const text = await set.exchange(
      'POST / HTTP/1.1\r\nHost: app.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n',
    )
    assert.equal(statusOf(text), 413)
    assert.match(text, /\r\nConnection: close\r\n/)
  })
})

suite('H1-07: a response before the end of the content', () => {
  const refusal = bodyOf(Buffer.from('no'))
  const answer = () =>
    Promise.resolve({
      head: { status: 401, reason: 'Unauthorized', framing: refusal.framing, fields: Fields.none },
      body: refusal,
    })
  const post = (length: number): string =>
    `POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: ${length}\r\n\r\n`

  test('leaves the connection usable when the rest is small, and never parses the rest as a request', async () => {
    await using set = await startFixture({ answer })
    const client = await set.connect()
    const hidden = 'GET /hidden HTTP/1.1\r\nHost: app.test\r\n\r\n'
    client.send(post(hidden.length))
    assert.equal((await client.answer()).status, 401)
    client.send(hidden)
    client.send('GET /next HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n')
    assert.equal(statusOf(await client.readToEnd()), 401)
  })

  test('closes the connection when the rest is large', async () => {
    await using set = await startFixture({ answer })
    const client = await set.connect()
    client.send(post(1_000_000))
    assert.equal(statusOf(await client.readToEnd()), 401)
  })

  test('closes the connection when the rest is chunked and does not end', async () => {
    await using set = await startFixture({ answer })
    const client = await set.connect()
    client.send('POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n')
    assert.equal((await client.answer()).status, 401)
    client.send(`ffffff\r\n${GET.repeat(3000)}`)
    assert.equal(await client.readToEnd(), '')
  })

  test('closes the connection when the rest does not arrive', async () => {
    await using set = await startFixture({ answer, limits: { lingerMs: 60 } })
    const client = await set.connect()
    client.send(post(10))
    assert.equal((await client.answer()).status, 401)
    assert.equal(await client.readToEnd(), '')
  })

  test('is forwarded at once, while the content is still being sent to the service', async () => {
    const received = Promise.withResolvers<string>()
    const upstream = createHttp((request, response) => {
      let body = ''
      response.writeHead(200)
      response.write('early')
      request.on('data', piece => (body += String(piece)))
      request.on('end', () => {
        received.resolve(body)
        response.end('late')
      })
    })
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send(post(6))
    await client.received('early')
    client.send('abc')
    client.send('def')
    assert.equal(await received.promise, 'abcdef')
    await client.received('late')
  })
})

suite('H1-06: an upgrade', () => {
  test('forwards bytes both ways after 101, and none before', async () => {
    const seen: string[] = []
    const upstream = createServer(socket => {
      socket.once('data', head => {
        seen.push(head.toString('latin1'))
        setTimeout(() => {
          seen.push('101')
          socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nfirst')
        }, 50)
        socket.on('data', bytes => {
          seen.push(bytes.toString('latin1'))
          socket.write('echo')
        })
      })
    })
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send(`${UPGRADE}GET /smuggled HTTP/1.1\r\n\r\n`)
    await client.received('echo')
    assert.match(
      client.text,
      /^HTTP\/1\.1 101 Switching Protocols\r\nUpgrade: raw\r\nConnection: Upgrade\r\n\r\nfirst/,
    )
    assert.match(seen[0] ?? '', /\r\nConnection: Upgrade\r\nUpgrade: raw\r\n/)
    assert.ok(seen[0]?.endsWith('\r\n\r\n') && !seen[0].includes('smuggled'))
    assert.deepEqual(seen.slice(1), ['101', 'GET /smuggled HTTP/1.1\r\n\r\n'])
  })

  test('that is refused leaves ordinary HTTP, and its upstream connection is not reused', async () => {
    const seen: string[] = []
    const upstream = createServer(socket => {
      socket.on('data', bytes => {
        seen.push(bytes.toString('latin1'))
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send(UPGRADE + GET)
    assert.equal((await client.answer()).body, 'ok')
    assert.equal((await client.answer()).body, 'ok')
    assert.equal(set.dialled.length, 2)
    assert.ok(seen.every(text => text.match(/HTTP\/1\.1/g)?.length === 1))
  })

  test('that gets no response forwards nothing of what follows', async () => {
    let received = ''
    const upstream = createServer(socket =>
      socket.on('data', bytes => (received += bytes.toString('latin1'))),
    )
    await using set = await startFixture({ upstream, backend: { answerTimeoutMs: 100 } })
    const client = await set.connect()
    client.send(`${UPGRADE}${'x'.repeat(1000)}`)
    assert.equal((await client.answer()).status, 504)
    assert.ok(received.endsWith('\r\n\r\n'))
  })

  test('to HTTP/2 is not forwarded to the service', async () => {
    let received = ''
    const upstream = createServer(socket =>
      socket.on('data', bytes => {
        received += bytes.toString('latin1')
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      }),
    )
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send(
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n',
    )
    assert.equal((await client.answer()).status, 200)
    assert.doesNotMatch(received, /upgrade|http2/i)
  })

  test('to WebSocket works in both directions and closes cleanly', async () => {
    const upstream = createHttp()
    const sockets = new WebSocketServer({ server: upstream })
    sockets.on('connection', socket => {
      socket.on('message', (data: Buffer, binary) => socket.send(data, { binary }))
      socket.send('welcome')
    })
    await using set = await startFixture({ upstream })
    const socket = new WebSocket(`ws://127.0.0.1:${set.port}/chat`)
    const [welcome] = (await once(socket, 'message')) as [Buffer]
    assert.equal(welcome.toString(), 'welcome')
    const large = Buffer.alloc(3_000_000, 'x')
    socket.send(large)
    const [echoed] = (await once(socket, 'message')) as [Buffer]
    assert.ok(echoed.equals(large))
    socket.close(1000, 'done')
    const [code] = (await once(socket, 'close')) as [number]
    assert.equal(code, 1000)
    await until(() => set.upstreamSockets.size === 0)
    await until(() => set.gateway?.streams === 0)
  })
})

/** A service that never responds, and reports when the gateway disconnects. */
function silentService() {
  const left = Promise.withResolvers<string>()
  const upstream = createServer(socket => socket.resume().on('end', () => left.resolve('left')))
  return { upstream, left: left.promise }
}

suite('timeouts and draining', () => {
  test('a server-sent event reaches the client at once', async () => {
    let emit: ((text: string) => void) | undefined
    const upstream = createHttp((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      emit = text => void response.write(text)
    })
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send(GET)
    await client.received('text/event-stream')
    emit?.('data: 1\n\n')
    await client.received('data: 1')
    emit?.('data: 2\n\n')
    await client.received('data: 2')
  })

  test('a client that disconnects aborts its request', async () => {
    const { upstream, left } = silentService()
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send(GET)
    await until(() => set.upstreamSockets.size > 0)
    client.socket.resetAndDestroy()
    assert.equal(await left, 'left')
  })

  test('a client that half-closes still gets its response', async () => {
    const upstream = createHttp((_, response) => setTimeout(() => response.end('late'), 50))
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send(GET)
    client.socket.end()
    assert.match(await client.readToEnd(), /late/)
  })

  test('but not without a timeout', async () => {
    const upstream = createServer(socket => socket.resume())
    await using set = await startFixture({ upstream, limits: { halfClosedMs: 60 } })
    const client = await set.connect()
    client.send(GET)
    client.socket.end()
    assert.equal(await client.readToEnd(), '')
  })

  test('a request that ends in the middle of its content is not forwarded as complete', async () => {
    const { upstream, left } = silentService()
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send('POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 10\r\n\r\nabc')
    await until(() => set.upstreamSockets.size > 0)
    client.socket.end()
    assert.equal(await left, 'left')
  })

  const limits = { headMs: 60, keepAliveMs: 120, bodyIdleMs: 60 }
  const ok = () =>
    createHttp((request, response) => void request.resume().on('end', () => response.end('ok')))

  test('a connection without a byte is closed', async () => {
    await using set = await startFixture({ upstream: ok(), limits })
    assert.equal(await set.exchange(''), '')
  })

  test('an incomplete head is rejected', async () => {
    await using set = await startFixture({ upstream: ok(), limits })
    assert.equal(statusOf(await set.exchange('GET / HTTP/1.1\r\nHost: a\r\n')), 408)
    assert.equal(statusOf(await set.exchange('GET /')), 408)
  })

  test('a head that arrives byte by byte is rejected in time too', async () => {
    await using set = await startFixture({ upstream: ok(), limits })
    const client = await set.connect()
    for (const character of GET.slice(0, 30)) {
      client.send(character)
      await pause(5)
    }
    assert.equal(statusOf(await client.readToEnd()), 408)
  })

  test('content that stops arriving is rejected', async () => {
    await using set = await startFixture({ upstream: ok(), limits })
    const text = await set.exchange('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc')
    assert.equal(statusOf(text), 408)
  })

  test('an idle connection is closed after its timeout', async () => {
    await using set = await startFixture({ upstream: ok(), limits })
    const client = await set.connect()
    // The connection is idle from its response on, which this process may read late.
    const begun = performance.now()
    client.send(GET)
    assert.equal((await client.answer()).status, 200)
    assert.equal(await client.readToEnd(), '')
    // A timer may fire a moment early.
    assert.ok(performance.now() - begun > limits.keepAliveMs - 10)
  })

  test('a request that arrived while the process was suspended is served', async () => {
    await using set = await startFixture({ upstream: ok(), limits })
    const client = await set.connect()
    client.send(GET)
    assert.equal((await client.answer()).status, 200)
    client.send(GET)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * limits.keepAliveMs)
    assert.equal((await client.answer()).status, 200)
  })

  test('draining closes idle connections after a moment, and others after their response', async () => {
    const running = Promise.withResolvers<ServerResponse>()
    const upstream = createHttp((_, response) => running.resolve(response))
    await using set = await startFixture({ upstream, limits: { ...limits, drainNewMs: 50 } })
    const idle = await set.connect()
    const busy = await set.connect()
    busy.send(GET)
    const response = await running.promise
    await until(() => set.served.length === 2)
    for (const served of set.served) served.drain()
    assert.equal(await idle.readToEnd(), '')
    response.end('done')
    const text = await busy.readToEnd()
    assert.match(text, /\r\nConnection: close\r\n(?:.*\r\n)*\r\ndone$/)
    idle.close()
    busy.close()
    await Promise.all(set.served.map(({ closed }) => closed))
  })

  test('draining waits longer for the first request of a new connection', async () => {
    await using set = await startFixture({ upstream: ok(), limits: { drainMs: 50 } })
    const [used, fresh] = [await set.connect(), await set.connect()]
    used.send(GET)
    assert.equal((await used.answer()).status, 200)
    await until(() => set.served.length === 2)
    for (const served of set.served) served.drain()
    // As long as a used connection gets is not enough for a client that has just connected.
    assert.equal(await used.readToEnd(), '')
    fresh.send(GET)
    assert.match(await fresh.readToEnd(), /^HTTP\/1\.1 200 (?:.*\r\n)*Connection: close\r\n/)
    used.close()
    fresh.close()
  })

  test('draining serves the request that is in flight on an idle connection', async () => {
    await using set = await startFixture({ upstream: ok() })
    const client = await set.connect()
    await until(() => set.served.length > 0)
    set.served[0]?.drain()
    client.send(GET)
    assert.match(await client.readToEnd(), /^HTTP\/1\.1 200 (?:.*\r\n)*Connection: close\r\n/)
    client.close()
  })
})

const MIB = 1_048_576
const BULK = (process.env['TEST_LONG'] ? 1024 : 256) * MIB

/** The peak memory growth of this process during the work. */
async function growth(work: () => Promise<void>): Promise<number> {
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let highest = before
  const timer = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 10)
  await work()
  clearInterval(timer)
  return highest - before
}

suite('bulk', () => {
  const block = Buffer.alloc(65_536, 'x')

  /** Writes so many bytes, as fast as they are taken. */
  async function pour(
    socket: { write(bytes: Buffer): boolean } & NodeJS.EventEmitter,
    size: number,
  ): Promise<void> {
    for (let left = size; left > 0; left -= block.length)
      if (!socket.write(block.subarray(0, Math.min(left, block.length)))) await once(socket, 'drain')
  }

  test(`${BULK / MIB} MiB are downloaded in constant memory`, async () => {
    const upstream = createHttp((_, response) => {
      response.setHeader('content-length', BULK)
      void pour(response, BULK).then(() => response.end())
    })
    await using set = await startFixture({ upstream })
    const socket = (await set.connect()).socket
    socket.removeAllListeners('data')
    let received = 0
    const done = Promise.withResolvers<void>()
    socket.on('data', (text: string) => {
      received += text.length
      if (received > BULK) done.resolve()
    })
    const grown = await growth(async () => {
      socket.write(GET)
      await done.promise
    })
    assert.ok(grown < 128 * MIB, `${Math.round(grown / MIB)} MiB more`)
  })

  for (const framing of ['length', 'chunks']) {
    test(`${BULK / MIB} MiB are uploaded by ${framing} in constant memory`, async () => {
      const upstream = createHttp((request, response) => {
        let received = 0
        request.on('data', (piece: Buffer) => (received += piece.length))
        request.on('end', () => response.end(String(received)))
      })
      await using set = await startFixture({ upstream })
      const client = await set.connect()
      const grown = await growth(async () => {
        if (framing === 'length') {
          client.send(`POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: ${BULK}\r\n\r\n`)
          await pour(client.socket, BULK)
        } else {
          client.send('POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n')
          for (let sent = 0; sent < BULK; sent += 8 * MIB) {
            client.send(`${(8 * MIB).toString(16)}\r\n`)
            await pour(client.socket, 8 * MIB)
            client.send('\r\n')
          }
          client.send('0\r\n\r\n')
        }
        const { body } = await client.answer()
        assert.equal(body, String(BULK))
      })
      assert.ok(grown < 128 * MIB, `${Math.round(grown / MIB)} MiB more`)
    })
  }

  test('a client that does not read stalls only itself, and is disconnected in time', async () => {
    let taken = 0
    const upstream = createHttp((request, response) => {
      if (request.url === '/small') {
        response.end('small')
        return
      }
      response.setHeader('content-length', 256 * MIB)
      const pump = (): void => {
        while (response.write(block)) taken += block.length
        taken += block.length
      }
      response.on('drain', pump)
      pump()
    })
    await using set = await startFixture({ upstream, limits: { writeStallMs: 500 } })
    const stalled = (await set.connect()).socket
    stalled.pause()
    stalled.write(GET)
    await steady(() => taken)
    const other = await set.connect()
    for (let count = 0; count < 20; count++) {
      other.send('GET /small HTTP/1.1\r\nHost: app.test\r\n\r\n')
      assert.equal((await other.answer()).body, 'small')
    }
    assert.ok(taken < 32 * MIB, `${taken} bytes were taken from the service`)
    await set.served[0]?.closed
    // A reset frees what the system holds for it, which a FIN behind megabytes that are not read does not.
    const failed = once(stalled, 'error')
    stalled.resume()
    const [error] = (await failed) as [NodeJS.ErrnoException]
    assert.equal(error.code, 'ECONNRESET')
  })
})
