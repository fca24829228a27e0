import assert from 'node:assert/strict'
import { once } from 'node:events'
import { constants } from 'node:http2'
import { createServer } from 'node:net'
import { suite, test } from 'node:test'
import type { Exchange, Reply } from '#http/exchange.ts'
import { DialError } from '#registry/agent-dialer.ts'
import { http2Backend } from '#gateway/backends/http2-upstream.ts'
import { h2c, tunnel, upstream } from './upstream-server.ts'
import { ask, gateway } from './support.ts'

/** The result of a GET, and of a POST with content, at a backend; and whether the content could still be replayed. */
async function outcomes(backend: (exchange: Exchange) => Promise<Reply>) {
  const replies: Reply[] = []
  await using host = await gateway(async exchange => {
    const reply = await backend(exchange)
    replies.push(reply)
    return reply
  })
  const client = await host.client()
  await ask(client, { ':path': '/' })
  await ask(client, { ':path': '/', ':method': 'POST' }, 'content')
  return replies.map(({ failure: lost }) => lost)
}

suite('a failed request over HTTP/2', () => {
  test('was not sent when the agent cannot be dialled', async () => {
    for (const error of [
      new DialError('offline', 'gone'),
      new DialError('busy', 'full'),
      new Error('refused'),
    ]) {
      const backend = http2Backend({ dial: () => Promise.reject(error), tunnel })
      assert.deepEqual(await outcomes(backend), ['not-sent', 'not-sent'])
    }
  })

  test('was not sent when the service refuses it unseen, unless it received content', async () => {
    await using behind = await upstream(h2c(stream => stream.close(constants.NGHTTP2_REFUSED_STREAM)))
    assert.deepEqual(await outcomes(behind.backend), ['not-sent', 'no-response'])
  })

  test('got no response when the service ends it without one', async () => {
    await using behind = await upstream(h2c(stream => stream.close(constants.NGHTTP2_INTERNAL_ERROR)))
    assert.deepEqual(await outcomes(behind.backend), ['no-response', 'no-response'])
    await using silent = await upstream(createServer(socket => socket.destroy()))
    assert.deepEqual(await outcomes(silent.backend), ['no-response', 'no-response'])
  })

  test('is not retryable when a part of the response arrived, or the service timed out', async () => {
    await using early = await upstream(
      h2c(stream => {
        stream.additionalHeaders({ ':status': 103, link: '</a>' })
        setImmediate(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
      }),
    )
    assert.deepEqual(await outcomes(early.backend), [undefined, undefined])
    await using slow = await upstream(
      h2c(() => undefined),
      { patience: 30 },
    )
    assert.deepEqual(await outcomes(slow.backend), [undefined, undefined])
  })

  test('is not retryable when its client has disconnected', async () => {
    const service = h2c(() => undefined)
    await using behind = await upstream(service)
    const replied = Promise.withResolvers<Reply>()
    await using host = await gateway(async exchange => {
      const reply = await behind.backend(exchange)
      replied.resolve(reply)
      return reply
    })
    const client = await host.client()
    const arrived = once(service, 'stream')
    const stream = client.request({ ':path': '/' })
    stream.on('error', () => undefined)
    await arrived
    stream.close(constants.NGHTTP2_CANCEL)
    assert.equal((await replied.promise).failure, undefined)
  })
})
