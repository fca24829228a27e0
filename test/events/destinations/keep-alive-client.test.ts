import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { suite, test } from 'node:test'
import { createEgress } from '#base/egress-client.ts'
import { KeepAliveClient } from '#events/destinations/keep-alive-client.ts'
import { fails, identity, loopback, secureWeb } from '../../base/egress/support.ts'
import { service } from './support.ts'
import { listening, type Listening } from '../../support/net.ts'

const egress = createEgress({ allow: loopback })
const post = (
  http: KeepAliveClient,
  url: string,
  more: { signal?: AbortSignal; headers?: Record<string, string> } = {},
) => http.post({ url, headers: {}, body: 'hello', signal: new AbortController().signal, ...more })

/** A server of the given bytes for each request of a connection. */
const raw = (...answers: readonly string[]): Promise<Listening> =>
  listening(
    createServer(socket => {
      let at = 0
      socket.on('data', () => socket.write(answers[at++] ?? ''))
    }),
  )

suite('kept HTTP connections', () => {
  test('are used again, and a new one is opened when the server has closed it', async () => {
    let last: { destroy(): void } | undefined
    await using server = await service((_, response) => {
      last = response.socket ?? undefined
      response.end('ok')
    })
    const http = new KeepAliveClient(egress)
    for (let count = 0; count < 3; count++) assert.equal((await post(http, server.url)).body.toString(), 'ok')
    assert.equal(server.connections(), 1)
    last?.destroy()
    assert.equal((await post(http, server.url)).status, 200)
    assert.equal(server.connections(), 2)
    assert.equal(server.seen.length, 4)
    http.close()
  })

  test('speak TLS and refuse a certificate that is not trusted', async () => {
    const own = await identity('IP:127.0.0.1')
    await using server = await secureWeb(
      own,
      (request, response) => void request.resume().on('end', () => response.end('secure')),
    )
    const url = `https://127.0.0.1:${server.port}/`
    const trusting = new KeepAliveClient(createEgress({ allow: loopback, ca: [own.cert] }))
    assert.equal((await post(trusting, url)).body.toString(), 'secure')
    assert.equal((await post(trusting, url)).body.toString(), 'secure')
    assert.equal(server.connections(), 1)
    trusting.close()
    await fails(post(new KeepAliveClient(egress), url), 'untrusted')
  })

  test('are not made to private addresses unless the operator allows them', async () => {
    await using server = await service((_, response) => void response.end())
    await fails(post(new KeepAliveClient(createEgress({ allow: [] })), server.url), 'forbidden')
    assert.equal(server.connections(), 0)
  })

  test('do not wait longer for a response than configured', async () => {
    await using server = await service(() => undefined)
    await fails(post(new KeepAliveClient(egress, { timeoutMs: 100 }), server.url), 'timeout')
  })

  test('end when the caller stops', async () => {
    const controller = new AbortController()
    await using server = await service(() => controller.abort(new Error('stopped by the test')))
    await assert.rejects(
      post(new KeepAliveClient(egress), server.url, { signal: controller.signal }),
      /stopped by the test/,
    )
    await assert.rejects(
      post(new KeepAliveClient(egress), server.url, { signal: controller.signal }),
      /stopped by the test/,
    )
    assert.equal(server.seen.length, 1)
  })

  test('refuse answers that are too long or are no answers, and addresses that are none', async () => {
    await using long = await service((_, response) => void response.end(Buffer.alloc(1_048_577)))
    await fails(post(new KeepAliveClient(egress), long.url), 'too_large')
    await using wrong = await raw('SSH-2.0-x\r\n')
    await fails(post(new KeepAliveClient(egress), `http://127.0.0.1:${wrong.port}`), 'unreachable')
    await fails(post(new KeepAliveClient(egress), 'ftp://127.0.0.1/'), 'invalid')
    await fails(post(new KeepAliveClient(egress), 'http://name:word@127.0.0.1/'), 'invalid')
    await fails(post(new KeepAliveClient(egress), long.url, { headers: { a: 'b\nc' } }), 'invalid')
  })

  test('are not tried twice when a new one breaks', async () => {
    let count = 0
    const server = createServer(socket => {
      count++
      socket.once('data', () => socket.destroy())
    })
    await using local = await listening(server)
    await fails(post(new KeepAliveClient(egress), `http://127.0.0.1:${local.port}`), 'unreachable')
    assert.equal(count, 1)
  })

  test('hold no process back: closing ends those that are idle', async () => {
    const server = createServer()
    server.on('connection', socket =>
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')),
    )
    await using local = await listening(server)
    const opened = once(server, 'connection')
    const http = new KeepAliveClient(egress)
    await post(http, `http://127.0.0.1:${local.port}`)
    const [socket] = (await opened) as [import('node:net').Socket]
    const ended = once(socket, 'close')
    http.close()
    await ended
    await fails(post(http, `http://127.0.0.1:${local.port}`), 'unreachable')
  })
})
