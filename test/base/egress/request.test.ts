import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { suite, test } from 'node:test'
import { createEgress, type EgressOptions } from '#base/egress-client.ts'
import { fails, identity, loopback, rangesOf, secureWeb, web } from './support.ts'
import { listening } from '../../support/net.ts'

/** Names lead to this machine, whatever they are. */
const here = (options: Partial<EgressOptions> = {}) =>
  createEgress({ allow: loopback, lookup: async () => ['127.0.0.1'], ...options })

/** A resolver that answers otherwise each time. */
function turning(...answers: readonly (readonly string[])[]) {
  let asked = 0
  const lookup = async () => answers[Math.min(asked++, answers.length - 1)] ?? []
  return { lookup, asked: () => asked }
}

const echo = (request: IncomingMessage, response: ServerResponse): void => {
  let text = ''
  request.on('data', (bytes: Buffer) => (text += bytes.toString()))
  request.on('end', () => {
    const { method, url, headers } = request
    response.setHeader('Set-Cookie', ['a=1', 'b=2'])
    response.end(JSON.stringify({ method, url, headers, text }))
  })
}

interface Echo {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

const read = ({ body }: { readonly body: Buffer }): Echo => JSON.parse(body.toString()) as Echo

suite('an outgoing request', { concurrency: 4 }, () => {
  test('sends what it was given, and no more, and reads the response', async () => {
    await using server = await web(echo)
    const answer = await here().request(`http://app.test:${server.port}/a?b=1`, {
      method: 'POST',
      headers: {
        Accept: 'application/json',
        'X-One': '1',
        Host: 'other.test',
        'Transfer-Encoding': 'chunked',
      },
      body: 'content',
    })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['set-cookie'], 'a=1, b=2')
    const { method, url, headers, text } = read(answer)
    assert.deepEqual([method, url, text], ['POST', '/a?b=1', 'content'])
    assert.deepEqual(headers, {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'adit',
      'x-one': '1',
      host: `app.test:${server.port}`,
      'content-length': '7',
      connection: 'close',
    })
  })

  for (const url of [
    'ftp://app.test/',
    'file:///etc/passwd',
    'data:,x',
    'gopher://127.0.0.1',
    'nonsense',
    '',
  ])
    test(`is only one of the web: ${url || 'nothing'}`, async () => {
      await fails(here().request(url), 'invalid')
    })

  test('has no password in its URL', async () => {
    await fails(here().request('http://me:secret@app.test/'), 'invalid')
  })

  test('fails with a message when the name is unknown', async () => {
    const lookup = async () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
    const error = await fails(here({ lookup }).request('http://gone.test/'), 'unresolved')
    assert.match(error.message, /gone\.test.*ENOTFOUND/)
    await fails(here({ lookup: async () => [] }).request('http://empty.test/'), 'unresolved')
  })

  test('fails with a message when nothing listens', async () => {
    const server = await web(echo)
    await server[Symbol.asyncDispose]()
    const error = await fails(here().request(`http://app.test:${server.port}/`), 'unreachable')
    assert.match(error.message, /app\.test.*ECONNREFUSED/)
  })

  test('tries the next address when nothing listens at the first', async () => {
    await using server = await web(echo)
    const lookup = async () => ['127.0.0.9', '127.0.0.1']
    assert.equal((await here({ lookup }).request(`http://app.test:${server.port}/`)).status, 200)
  })
})

suite('SEC-14: a request to a private network', { concurrency: 4 }, () => {
  test('is refused, and the setting that allows it is named', async () => {
    await using server = await web(echo)
    const egress = createEgress({ allow: [], lookup: async () => ['127.0.0.1'] })
    const error = await fails(egress.request(`http://app.test:${server.port}/`), 'forbidden')
    assert.match(error.message, /app\.test.*egress_allow/)
    assert.equal(server.connections(), 0)
  })

  const spellings = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '[::1]',
    '[::ffff:7f00:1]',
    '0',
  ]
  for (const host of spellings)
    test(`is refused however it is written: ${host}`, async () => {
      await using server = await web(echo)
      const asked: string[] = []
      const lookup = async (name: string) => {
        asked.push(name)
        return ['8.8.8.8']
      }
      await fails(createEgress({ allow: [], lookup }).request(`http://${host}:${server.port}/`), 'forbidden')
      assert.deepEqual([server.connections(), asked], [0, []])
    })

  test('is refused by names of the hosts file too', async () => {
    await fails(createEgress({ allow: [] }).request('http://localhost:9/'), 'forbidden')
  })

  test('uses only the allowed addresses of a name', async () => {
    await using server = await web(echo)
    const allow = rangesOf('127.0.0.1/32')
    const lookup = async () => ['127.0.0.2', '10.0.0.1', '127.0.0.1']
    assert.equal(
      (await createEgress({ allow, lookup }).request(`http://app.test:${server.port}/`)).status,
      200,
    )
  })

  test('is not reached by a name that changes between the check and the connection', async () => {
    await using server = await web(echo)
    const { lookup, asked } = turning(['127.0.0.1'], ['127.0.0.2'])
    const egress = createEgress({ allow: rangesOf('127.0.0.1/32'), lookup })
    assert.equal((await egress.request(`http://rebind.test:${server.port}/`)).status, 200)
    assert.equal(asked(), 1)
    await fails(egress.request(`http://rebind.test:${server.port}/`), 'forbidden')
    assert.deepEqual([asked(), server.connections()], [2, 1])
  })
})

suite('SEC-14: a redirect', { concurrency: 4 }, () => {
  const to = (location: string, status = 302) =>
    web((_request, response) => response.writeHead(status, { location }).end())

  test('is followed', async () => {
    await using server = await web((request, response) => {
      if (request.url === '/b') echo(request, response)
      else response.writeHead(301, { location: 'b' }).end()
    })
    assert.equal(read(await here().request(`http://app.test:${server.port}/a`)).url, '/b')
  })

  for (const target of [
    'http://127.0.0.2:1/',
    'http://[::ffff:127.0.0.2]:1/',
    'http://169.254.169.254/latest/',
  ])
    test(`to ${target} is refused`, async () => {
      await using server = await to(target)
      const egress = createEgress({ allow: rangesOf('127.0.0.1/32') })
      await fails(egress.request(`http://127.0.0.1:${server.port}/`), 'forbidden')
    })

  test('to a name that has turned private is refused', async () => {
    await using server = await web((_request, response) =>
      response.writeHead(307, { location: '/again' }).end(),
    )
    const { lookup } = turning(['127.0.0.1'], ['127.0.0.2'])
    const egress = createEgress({ allow: rangesOf('127.0.0.1/32'), lookup })
    await fails(egress.request(`http://rebind.test:${server.port}/`), 'forbidden')
    assert.equal(server.connections(), 1)
  })

  for (const target of [
    'file:///etc/passwd',
    'javascript:alert(1)',
    'ftp://app.test/',
    'http://u:p@app.test/',
  ])
    test(`to ${target} is refused`, async () => {
      await using server = await to(target)
      await fails(here().request(`http://app.test:${server.port}/`), 'invalid')
    })

  test('is followed three times and no more', async () => {
    await using server = await web((request, response) => {
      const left = Number(request.url?.slice(1))
      if (left === 0) response.end('there')
      else response.writeHead(302, { location: `/${left - 1}` }).end()
    })
    assert.equal((await here().request(`http://app.test:${server.port}/3`)).body.toString(), 'there')
    await fails(here().request(`http://app.test:${server.port}/4`), 'invalid')
    assert.equal(server.connections(), 8)
  })

  test('is not followed if the caller disables it', async () => {
    await using server = await web((_request, response) => response.writeHead(302, { location: '/' }).end())
    await fails(here().request(`http://app.test:${server.port}/`, { redirects: 0 }), 'invalid')
    assert.equal(server.connections(), 1)
  })

  test('sends secrets only to the same origin', async () => {
    await using other = await web(echo)
    await using server = await web((request, response) => {
      if (request.url === '/own') echo(request, response)
      else
        response
          .writeHead(302, { location: request.url === '/a' ? '/own' : `http://b.test:${other.port}/` })
          .end()
    })
    const headers = { authorization: 'Bearer s', cookie: 'c=1', 'x-api-key': 'k', accept: 'text/plain' }
    const own = read(await here().request(`http://a.test:${server.port}/a`, { headers }))
    assert.deepEqual([own.headers.authorization, own.headers['x-api-key']], ['Bearer s', 'k'])
    const { headers: seen } = read(await here().request(`http://a.test:${server.port}/b`, { headers }))
    assert.deepEqual(
      [seen.authorization, seen.cookie, seen['x-api-key'], seen.accept],
      [undefined, undefined, undefined, 'text/plain'],
    )
  })

  test('of a POST is followed by GET without content, unless the status keeps the method', async () => {
    await using server = await web((request, response) => {
      if (request.url === '/there') echo(request, response)
      else response.writeHead(Number(request.url?.slice(1)), { location: '/there' }).end()
    })
    const post = (status: number) =>
      here()
        .request(`http://app.test:${server.port}/${status}`, { method: 'POST', body: 'secret' })
        .then(read)
    assert.deepEqual(
      (await Promise.all([301, 302, 303, 307, 308].map(post))).map(({ method, text }) => `${method} ${text}`),
      ['GET ', 'GET ', 'GET ', 'POST secret', 'POST secret'],
    )
  })

  test('sends no content to another origin', async () => {
    await using other = await web(echo)
    await using server = await to(`http://b.test:${other.port}/`, 307)
    await fails(here().request(`http://a.test:${server.port}/`, { method: 'POST', body: 's' }), 'invalid')
    assert.equal(other.connections(), 0)
  })

  test('without a Location is an ordinary response', async () => {
    await using server = await web((_request, response) => response.writeHead(304).end())
    assert.equal((await here().request(`http://app.test:${server.port}/`)).status, 304)
  })
})

suite('the limits of an outgoing request', { concurrency: 4 }, () => {
  const quick = { timeoutMs: 150 }

  test('abort one whose name is not resolved in time', async () => {
    const lookup = () => new Promise<string[]>(() => undefined)
    await fails(here({ lookup }).request('http://slow.test/', quick), 'timeout')
  })

  test('abort one without a response', async () => {
    await using server = await listening(createServer())
    const error = await fails(here().request(`http://app.test:${server.port}/`, quick), 'timeout')
    assert.match(error.message, /0\.2 seconds|0\.1 seconds/)
  })

  test('abort one whose response arrives too slowly', async () => {
    const closed = Promise.withResolvers<void>()
    await using server = await web((request, response) => {
      const timer = setInterval(() => response.write('.'), 10)
      request.socket.on('close', () => {
        clearInterval(timer)
        closed.resolve()
      })
    })
    await fails(here().request(`http://app.test:${server.port}/`, quick), 'timeout')
    await closed.promise
  })

  test('include all redirects', async () => {
    await using server = await web((_request, response) => {
      setTimeout(() => response.writeHead(302, { location: '/' }).end(), 80)
    })
    await fails(here().request(`http://app.test:${server.port}/`, quick), 'timeout')
  })

  test('abort one whose response is too large', async () => {
    const closed = Promise.withResolvers<void>()
    await using server = await web((request, response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(65_536)));
      }
      response.on('drain', more)
      request.socket.on('close', () => closed.resolve())
      more()
    })
    const error = await fails(
      here().request(`http://app.test:${server.port}/`, { maxBytes: 100_000 }),
      'too_large',
    )
    assert.match(error.message, /100000 bytes/)
    await closed.promise
  })

  test('allow a response of exactly the maximum size', async () => {
    await using server = await web((_request, response) => response.end(Buffer.alloc(1000)))
    const call = (maxBytes: number) => here().request(`http://app.test:${server.port}/`, { maxBytes })
    assert.equal((await call(1000)).body.length, 1000)
    await fails(call(999), 'too_large')
  })

  const broken: readonly string[] = [
    'nonsense\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`,
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    '',
  ]
  for (const text of broken)
    test(`reject an invalid response: ${JSON.stringify(text.slice(0, 60))}`, async () => {
      const server = createServer(socket => {
        socket.on('error', () => undefined)
        socket.once('data', () => socket.end(text))
      })
      await using local = await listening(server)
      await fails(here().request(`http://app.test:${local.port}/`), 'unreachable')
    })
})

suite('TLS of an outgoing request', { concurrency: 4 }, () => {
  test('is verified against the name and the given roots', async () => {
    const own = await identity('DNS:app.test', 'IP:127.0.0.1')
    await using server = await secureWeb(own, (_request, response) => response.end('safe'))
    const egress = here({ ca: [own.cert] })
    const url = (host: string) => `https://${host}:${server.port}/`
    assert.equal((await egress.request(url('app.test'))).body.toString(), 'safe')
    assert.equal((await egress.request(url('127.0.0.1'))).body.toString(), 'safe')
    const wrong = await fails(egress.request(url('other.test')), 'untrusted')
    assert.match(wrong.message, /certificate of other\.test/)
    await fails(here().request(url('app.test')), 'untrusted')
  })

  test('is not downgraded by a redirect', async () => {
    const own = await identity('DNS:app.test')
    await using plain = await web(echo)
    await using server = await secureWeb(own, (_request, response) =>
      response.writeHead(302, { location: `http://app.test:${plain.port}/` }).end(),
    )
    const error = await fails(here({ ca: [own.cert] }).request(`https://app.test:${server.port}/`), 'invalid')
    assert.match(error.message, /without TLS/)
    assert.equal(plain.connections(), 0)
  })

  test('is not spoken by a server of plain HTTP', async () => {
    await using server = await web(echo)
    await fails(here().request(`https://app.test:${server.port}/`), 'unreachable')
  })

  test('that hangs is aborted', async () => {
    await using server = await listening(createServer())
    await fails(here().request(`https://app.test:${server.port}/`, { timeoutMs: 150 }), 'timeout')
  })
})

suite('names', () => {
  test('are resolved once for concurrent requests, and two at a time', async () => {
    await using server = await web(echo)
    const asked: string[] = []
    const waiting: (() => void)[] = []
    const lookup = async (host: string) => {
      asked.push(host)
      await new Promise<void>(resolve => waiting.push(resolve))
      return ['127.0.0.1']
    }
    const egress = here({ lookup })
    const calls = ['a', 'a', 'b', 'c'].map(name => egress.request(`http://${name}.test:${server.port}/`))
    await new Promise(resolve => setImmediate(resolve))
    assert.deepEqual(asked, ['a.test', 'b.test'])
    waiting[0]?.()
    await Promise.all(calls.slice(0, 2))
    assert.deepEqual(asked, ['a.test', 'b.test', 'c.test'])
    waiting.forEach(resolve => resolve())
    assert.deepEqual(
      (await Promise.all(calls)).map(({ status }) => status),
      [200, 200, 200, 200],
    )
  })
})
