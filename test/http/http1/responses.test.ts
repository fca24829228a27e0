import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import { type Http1Fixture, startFixture, type FixtureOptions } from './support.ts'
import { until } from '../../support/until.ts'

const GET = 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n'

/** A service that responds to everything with the given bytes. */
const saying = (text: string, then: (socket: Socket) => void = () => undefined) =>
  createServer(socket => {
    socket.on('data', () => {
      socket.write(text, 'latin1')
      then(socket)
    })
  })

async function answerOf(text: string, request = GET, options: FixtureOptions = {}): Promise<string> {
  await using set = await startFixture({ upstream: saying(text, socket => socket.end()), ...options })
  const client = await set.connect()
  client.send(request)
  client.socket.end()
  const whole = await client.readToEnd()
  client.close()
  return whole
}

suite('H1-08: an invalid response', () => {
  const broken: Readonly<Record<string, string>> = {
    'length and coding': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok',
    'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok',
    'a second status line': 'HTTP/1.1 200 OK\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    'line feeds alone': 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok',
    'a line feed alone in a field': 'HTTP/1.1 200 OK\r\nX-A: 1\nContent-Length: 2\r\n\r\nok',
    'a folded line': 'HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\nContent-Length: 2\r\n\r\nok',
    'a NUL': 'HTTP/1.1 200 OK\r\nX-A: \x00\r\nContent-Length: 2\r\n\r\nok',
    'white space before the colon': 'HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok',
    'an unknown coding': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok',
    'another protocol': 'SSH-2.0-OpenSSH_9.2\r\n',
    'another version': 'HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
    'a status of two digits': 'HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok',
    'eleven interim answers': `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(11)}HTTP/1.1 200 OK\r\n\r\n`,
    'a head of 70 KiB': `HTTP/1.1 200 OK\r\n${`X-A: ${'a'.repeat(1000)}\r\n`.repeat(70)}\r\n`,
    'an unsolicited upgrade': 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n',
  }
  for (const [name, text] of Object.entries(broken)) {
    test(`with ${name} becomes 502, and the next client is unaffected`, async () => {
      let count = 0
      const upstream = createServer(socket => {
        socket.on('data', () => {
          socket.write(++count === 1 ? text : 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood', 'latin1')
        })
      })
      await using set = await startFixture({ upstream })
      const client = await set.connect()
      client.send(GET)
      const answer = await client.answer()
      assert.equal(answer.status, 502)
      assert.match(answer.head, /Adit-Error-Code: ERR_ADIT_3004/)
      client.send(GET)
      assert.equal((await client.answer()).body, 'good')
      assert.equal(set.dialled.length, 2)
    })
  }

  test('with 100 MB of header is not buffered', async () => {
    const line = `X-A: ${'a'.repeat(8192)}\r\n`
    let sent = 0
    const upstream = createServer(socket => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n')
        const flood = (): void => {
          while (sent < 100_000_000 && socket.writable) {
            sent += line.length
            if (!socket.write(line)) return
          }
        }
        socket.on('drain', flood)
        flood()
      })
    })
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send(GET)
    assert.equal((await client.answer()).status, 502)
    assert.ok(sent < 20_000_000, `${sent} bytes were taken`)
  })

  for (const [name, head, request] of [
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', GET],
    ['304', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', GET],
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', GET.replace('GET', 'HEAD')],
  ] as const) {
    test(`with content on ${name} loses the content and its connection`, async () => {
      const upstream = saying(`${head}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison`)
      await using set = await startFixture({ upstream })
      const client = await set.connect()
      for (let count = 1; count <= 3; count++) {
        client.send(request)
        await client.until(text => text.split('\r\n\r\n').length === count + 1)
      }
      assert.doesNotMatch(client.text, /poison/)
      assert.equal(set.dialled.length, 3)
    })
  }

  for (const [name, text] of Object.entries({
    'a length': 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello',
    chunks: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n',
    'a chunk that is malformed': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n',
  })) {
    test(`that is truncated, with ${name}, never looks complete`, async () => {
      await using set = await startFixture({ upstream: saying(text, socket => socket.end()) })
      const whole = await set.exchange(GET)
      await until(() => set.gateway?.streams === 0)
      assert.ok(!whole.endsWith('0\r\n\r\n'))
      assert.equal(whole.match(/^HTTP\/1\.1/gm)?.length, 1)
    })
  }

  test('that is truncated resets a client that could not detect it otherwise', async () => {
    const upstream = saying('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n', socket =>
      setTimeout(() => socket.end(), 50),
    )
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    const failed = new Promise<NodeJS.ErrnoException>(resolve => client.socket.on('error', resolve))
    client.send('GET / HTTP/1.0\r\nHost: app.test\r\n\r\n')
    assert.equal((await failed).code, 'ECONNRESET')
  })
})

suite('UP-01', () => {
  test('an unsolicited response is never forwarded to a client', async () => {
    let count = 0
    const extra = 'HTTP/1.1 200 OK\r\nx-request-id: poison\r\nContent-Length: 6\r\n\r\npoison'
    const upstream = createServer({ noDelay: true }, socket => {
      socket.on('data', bytes => {
        const id = /x-request-id: (\S+)/i.exec(bytes.toString('latin1'))?.[1]
        const answer = `HTTP/1.1 200 OK\r\nx-request-id: ${id}\r\nContent-Length: 2\r\n\r\nok`
        // Some connections send again, at once or a moment later.
        socket.write(++count % 20 === 0 ? answer + extra : answer)
        if (count % 20 === 10) setImmediate(() => socket.write(extra))
      })
    })
    await using set = await startFixture({ upstream })
    let mismatched = 0
    const visit = async (name: string): Promise<void> => {
      const client = await set.connect()
      for (let turn = 0; turn < 990; turn++) {
        const id = `${name}-${turn}`
        client.send(`GET / HTTP/1.1\r\nHost: app.test\r\nX-Request-Id: ${id}\r\n\r\n`)
        const { head, status } = await client.answer()
        if (status === 200 && !head.includes(`x-request-id: ${id}\r\n`)) mismatched++
      }
      client.close()
    }
    await Promise.all(Array.from({ length: 11 }, (_, index) => visit(String(index))))
    assert.equal(mismatched, 0)
    assert.ok(count > 10_000)
  })
})

suite('retries', () => {
  const good = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood'
  const askTwice = async (set: Http1Fixture, request: string): Promise<number[]> => {
    const client = await set.connect()
    client.send(GET)
    const first = await client.answer()
    client.send(request)
    const second = await client.answer()
    return [first.status, second.status]
  }

  /** Connections that answer once and end at the second request. */
  const forgetful = () => {
    let connections = 0
    return createServer(socket => {
      const first = ++connections === 1
      let requests = 0
      socket.on('data', () => {
        if (first && ++requests === 2) socket.destroy()
        else socket.write(good)
      })
    })
  }

  test('a GET is retried when a reused connection ends without a byte', async () => {
    await using set = await startFixture({ upstream: forgetful() })
    assert.deepEqual(await askTwice(set, GET), [200, 200])
    assert.equal(set.dialled.length, 2)
  })

  test('a POST is not retried', async () => {
    await using set = await startFixture({ upstream: forgetful() })
    const post = 'POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 0\r\n\r\n'
    assert.deepEqual(await askTwice(set, post), [200, 502])
  })

  test('a POST does not use a connection that was idle for long', async () => {
    await using set = await startFixture({ upstream: saying(good) })
    const client = await set.connect()
    client.send(GET)
    await client.answer()
    await new Promise(done => setTimeout(done, 1100))
    client.send('POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 0\r\n\r\n')
    assert.equal((await client.answer()).status, 200)
    assert.equal(set.dialled.length, 2)
  })

  test('a new connection that ends without a byte is retried once, whatever the method', async () => {
    await using set = await startFixture({
      agent: (stream, _, count) => {
        if (count === 1) stream.end()
        else stream.end(Buffer.from(good))
      },
    })
    const text = await set.exchange('POST / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n')
    assert.match(text, /^HTTP\/1\.1 200 OK/)
    assert.equal(set.dialled.length, 2)
  })

  test('an unreachable upstream causes 502 with its own code', async () => {
    await using set = await startFixture({ agent: stream => stream.end() })
    const text = await set.exchange('GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n')
    assert.match(text, /^HTTP\/1\.1 502 .*\r\n(?:.*\r\n)*Adit-Error-Code: ERR_ADIT_8012/)
    assert.equal(set.dialled.length, 2)
  })

  for (const [name, said] of Object.entries({
    'the agents of one family': 'HTTP/1.1 502 Bad Gateway\r\n\r\nfailed to dial backend: connection refused',
    'the agents of another': 'HTTP/0.0 502 Bad Gateway\r\n\r\n',
  })) {
    test(`so does the error page of ${name}`, async () => {
      await using set = await startFixture({ agent: stream => stream.end(Buffer.from(said)) })
      const text = await set.exchange('GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n')
      assert.match(text, /^HTTP\/1\.1 502 .*\r\n(?:.*\r\n)*Adit-Error-Code: ERR_ADIT_8012/)
    })
  }

  test('but a 502 of the service itself is forwarded', async () => {
    const text = await answerOf('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\nfailed')
    assert.match(
      text,
      /^HTTP\/1\.1 502 Bad Gateway\r\nadit-request-id: \w+\r\nContent-Length: 6\r\n\r\nfailed$/,
    )
  })

  test('an upstream that does not respond in time has its own code', async () => {
    const upstream = createServer(socket => socket.resume())
    await using set = await startFixture({ upstream, backend: { answerTimeoutMs: 80 } })
    const text = await set.exchange('GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n')
    assert.match(text, /^HTTP\/1\.1 504 /)
  })

  test('idle time does not count towards the response timeout', async () => {
    const upstream = createServer(socket => {
      socket.on('data', () => socket.write(good))
    })
    // So long that an answer is not late because this process stood still.
    await using set = await startFixture({ upstream, backend: { answerTimeoutMs: 1000, idleMs: 20 } })
    const client = await set.connect()
    client.send(GET)
    assert.equal((await client.answer()).status, 200)
    await new Promise(done => setTimeout(done, 1200))
    client.send(GET)
    assert.equal((await client.answer()).status, 200)
  })

  test('an agent that has disconnected has its own code', async () => {
    const upstream = createServer(socket => socket.resume())
    await using set = await startFixture({ upstream })
    const client = await set.connect()
    client.send(GET)
    await until(() => set.upstreamSockets.size > 0)
    set.gateway?.close()
    assert.equal((await client.answer()).status, 502)
    client.send(GET)
    assert.match((await client.answer()).head, /ERR_ADIT_90040/)
  })

  test('idle connections are closed after their timeout', async () => {
    await using set = await startFixture({ upstream: saying(good), backend: { idleMs: 60 } })
    const client = await set.connect()
    client.send(GET)
    await client.answer()
    assert.equal(set.dialled.length, 1)
    const open = (): (number | undefined)[] => [set.upstreamSockets.size, set.gateway?.streams]
    // Neither end is notified first.
    await until(() => open().every(count => count === 0))
    assert.deepEqual(open(), [0, 0])
  })
})
