import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { suite, test } from 'node:test'
import { createServer as createSecureServer } from 'node:tls'
import { createEgress } from '#base/egress-client.ts'
import { identity, secureWeb } from '../../base/egress/support.ts'
import {
  build,
  HttpFront,
  localEgress,
  closingService,
  records,
  service,
  exchangeBytes,
  tcpService,
} from './support.ts'
import { freePort } from '../../support/free-ports.ts'
import { listening } from '../../support/net.ts'

const { fixed } = records

suite('a static backend', () => {
  test('forwards a request unchanged, with the forwarding headers', async () => {
    await using site = await service('site')
    await using front = new HttpFront(build({ one: fixed(site.port) }))
    const { status, body } = await front.ask(
      'PUT /a/b?c HTTP/1.1\r\nHost: App.Test:8080\r\nX-Forwarded-For: 6.6.6.6\r\nX-One: 1\r\nContent-Length: 3\r\n\r\nabc',
    )
    assert.deepEqual([status, body], [200, 'site'])
    const [asked] = site.asked
    assert.equal(asked?.text, 'PUT /a/b?c abc')
    assert.equal(asked.headers.host, 'App.Test:8080')
    assert.equal(asked.headers['x-forwarded-for'], '127.0.0.1')
    assert.equal(asked.headers['x-forwarded-host'], 'App.Test:8080')
    assert.equal(asked.headers['x-forwarded-proto'], 'http')
    assert.equal(asked.headers['x-one'], '1')
    assert.equal(front.replies[0]?.failure, undefined)
  })

  test('reuses a connection', async () => {
    await using site = await service('site')
    await using front = new HttpFront(build({ one: fixed(site.port) }))
    for (let count = 0; count < 5; count++) assert.equal((await front.get()).status, 200)
    assert.deepEqual([site.asked.length, site.connections()], [5, 1])
  })

  test('retries idempotent requests when a pooled connection was closed, but no others', async () => {
    // Each connection responds to one request and is closed at the next without a response.
    const site = createTcpServer(socket => {
      socket.on('error', () => undefined)
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        socket.once('data', () => socket.end())
      })
    })
    await using local = await listening(site)
    await using front = new HttpFront(build({ one: fixed(local.port) }))
    assert.equal((await front.get()).status, 200)
    assert.equal((await front.get()).status, 200)
    assert.equal(local.connections(), 2)
    assert.equal((await front.post('once')).status, 502)
    assert.deepEqual([local.connections(), front.lost.at(-1)], [2, 'no-response'])
  })

  test('reports a service that closes without a response, and sends the request only once', async () => {
    await using site = await closingService()
    await using front = new HttpFront(build({ one: fixed(site.port) }))
    const { status, head } = await front.get()
    assert.equal(status, 502)
    assert.match(head, /Adit-Error-Code: ERR_ADIT_90038/)
    assert.deepEqual([site.connections(), front.lost], [1, ['no-response']])
  })

  test('reports a service that cannot be reached', async () => {
    await using front = new HttpFront(build({ one: fixed(await freePort()) }))
    const { status, head } = await front.post('content')
    assert.equal(status, 502)
    assert.match(head, /Adit-Error-Code: ERR_ADIT_3006/)
    assert.deepEqual(front.lost, ['not-sent'])
  })

  test('reports a name without an address', async () => {
    const egress = localEgress({ lookup: async () => [] })
    await using front = new HttpFront(build({ one: fixed(80, false, 'gone.test') }, { egress }))
    assert.match((await front.get()).head, /ERR_ADIT_3006/)
  })

  test('does not connect to a private network; owners see the setting, clients no address', async () => {
    await using site = await service('site')
    const egress = createEgress({ allow: [], lookup: async () => ['127.0.0.1'] })
    await using front = new HttpFront(build({ one: fixed(site.port, false, 'inner.test') }, { egress }))
    const { status, head, body } = await front.get()
    assert.equal(status, 502)
    assert.match(head, /Adit-Error-Code: ERR_ADIT_90160/)
    assert.match(body, /egress_allow/)
    assert.doesNotMatch(head + body, /inner\.test|127\.0\.0\.1/)
    assert.deepEqual([site.connections(), front.lost], [0, ['not-sent']])
  })

  test('forwards a 502 of the service itself', async () => {
    await using site = await service('site', (_request, response) =>
      response.writeHead(502, { 'Content-Length': '33' }).end('failed to dial backend: not by us'),
    )
    await using front = new HttpFront(build({ one: fixed(site.port) }))
    const { status, body } = await front.get()
    assert.deepEqual([status, body], [502, 'failed to dial backend: not by us'])
    assert.deepEqual(front.lost, [undefined])
  })

  test('forwards large bodies in both directions', async () => {
    await using site = await service('site', (_request, response) => {
      response.write('x'.repeat(700_000))
      response.end('y')
    })
    await using front = new HttpFront(build({ one: fixed(site.port) }))
    const content = 'z'.repeat(600_000)
    const { body } = await front.post(content)
    assert.equal(site.asked[0]?.text, `POST / ${content}`)
    assert.equal(body.replaceAll(/[^xy]/g, '').length, 700_001)
  })

  test('forwards an upgrade', async () => {
    const site = createServer().on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: shout\r\nConnection: Upgrade\r\n\r\n')
      socket.on('data', (bytes: Buffer) => socket.write(bytes.toString().toUpperCase()))
    })
    await using local = await listening(site)
    await using front = new HttpFront(build({ one: fixed(local.port) }))
    const client = await front.connect()
    client.send('GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n')
    await client.received('101')
    client.send('hello')
    await client.received('HELLO')
    client.close()
  })

  test('closes its idle connections when it is closed', async () => {
    const closed = Promise.withResolvers<void>()
    const site = createServer((_request, response) => response.end('ok'))
    site.on('connection', socket => socket.on('close', () => closed.resolve()))
    await using local = await listening(site)
    await using front = new HttpFront(build({ one: fixed(local.port) }))
    await front.get()
    front.backend.close()
    await closed.promise
  })

  test('closes the service connection when the client disconnects', async () => {
    const closed = Promise.withResolvers<void>()
    const site = createServer(() => undefined)
    site.on('connection', socket => socket.on('close', () => closed.resolve()))
    await using local = await listening(site)
    await using front = new HttpFront(build({ one: fixed(local.port) }))
    const client = await front.connect()
    const arrived = once(site, 'request')
    client.send('GET / HTTP/1.1\r\nHost: app.test\r\n\r\n')
    await arrived
    client.socket.resetAndDestroy()
    await closed.promise
  })
})

suite('a static backend with TLS', () => {
  test('checks the certificate against the name in the address', async () => {
    const own = await identity('DNS:inner.test')
    await using site = await secureWeb(own, (_request, response) => response.end('safe'))
    const egress = localEgress({ ca: [own.cert] })
    const at = (host: string) => new HttpFront(build({ one: fixed(site.port, true, host) }, { egress }))
    await using right = at('inner.test')
    assert.equal((await right.get()).body, 'safe')
    await using wrong = at('other.test')
    const { status, head } = await wrong.get()
    assert.equal(status, 502)
    assert.match(head, /Adit-Error-Code: ERR_ADIT_90161/)
    assert.deepEqual(wrong.lost, ['not-sent'])
  })

  test('forwards TCP connections too', async () => {
    const own = await identity('DNS:inner.test')
    const server = createSecureServer({ ...own, allowHalfOpen: true }, socket => {
      socket.on('data', (bytes: Buffer) => socket.write(`tls: ${bytes.toString()}`))
      socket.on('end', () => socket.end())
    })
    await using site = await listening(server)
    const egress = localEgress({ ca: [own.cert] })
    const backend = build({ one: fixed(site.port, true, 'inner.test') }, { egress, edge: 'tcp' })
    assert.equal(await exchangeBytes(backend, 'hello'), 'tls: hello')
  })
})

suite('a static backend without HTTP', () => {
  test('forwards what was already read, and the response after the half-close', async () => {
    await using site = await tcpService('tcp')
    assert.equal(
      await exchangeBytes(build({ one: fixed(site.port) }, { edge: 'tcp' }), 'hello'),
      'tcp: hello',
    )
  })

  test('reports that it cannot be reached', async () => {
    const backend = build({ one: fixed(await freePort()) }, { edge: 'tcp' })
    await assert.rejects(exchangeBytes(backend, 'hello'), { name: 'DialError', code: 'offline' })
  })
})
