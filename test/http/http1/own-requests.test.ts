import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Body, bodyOf, noBody } from '#http/body.ts'
import type { Endpoint, Exchange, Reply } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { type FixtureOptions, startFixture } from './support.ts'

const replyOf = (text: string, status = 200): Reply => {
  const body = bodyOf(Buffer.from(text))
  return { head: { status, reason: 'Fine', framing: body.framing, fields: Fields.none }, body }
}

/** A server that responds itself: to errors with their code. */
const start = (answer: Endpoint, options: FixtureOptions = {}) =>
  startFixture({ ...options, answer, own: { refuse: ({ code }) => replyOf(code, 400) } })

/** Reads a body before it responds with it. */
const echo: Endpoint = ({ body }) => {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  let text = ''
  body.read(
    { data: bytes => (text += bytes.toString()), end: () => resolve(replyOf(text)), fail: reject },
    false,
  )
  return promise
}

async function headOf(bytes: string): Promise<RequestHead> {
  const { promise, resolve } = Promise.withResolvers<RequestHead>()
  await using set = await start(async ({ head }) => {
    resolve(head)
    return replyOf('ok')
  })
  await set.exchange(bytes)
  return promise
}

suite('requests that are not forwarded', () => {
  test('keep all fields, and what proxies state apart', async () => {
    const { fields, proxyFields } = await headOf(
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAdit-Auth-User: x\r\nX_A: 1\r\nX-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\nX-Real-Ip: 1.2.3.4\r\n\r\n',
    )
    assert.equal(fields.text, 'Adit-Auth-User: x\r\nX_A: 1\r\nX-Real-Ip: 1.2.3.4\r\n')
    assert.deepEqual(proxyFields, { 'x-forwarded-for': '1.2.3.4', forwarded: 'for=1.2.3.4' })
  })

  test('may have a target that services would misread, and TRACE', async () => {
    const { method, target } = await headOf(
      'TRACE /a/%00/../../..?x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    )
    assert.deepEqual([method, target], ['TRACE', '/a/%00/../../..?x'])
  })

  test('need no Host in HTTP/1.0, and one in HTTP/1.1', async () => {
    assert.equal((await headOf('GET / HTTP/1.0\r\n\r\n')).authority, '')
    await using set = await start(echo)
    assert.match(await set.exchange('GET / HTTP/1.1\r\n\r\n'), /^HTTP\/1\.1 400 .*bad_message$/s)
  })

  test('are answered without a request id', async () => {
    await using set = await start(echo)
    const text = await set.exchange('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    assert.equal(text, 'HTTP/1.1 200 Fine\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
  })

  test('are rejected in the form that the server has', async () => {
    await using set = await start(echo, { limits: { headBytes: 9000, lineBytes: 9000 } })
    for (const [bytes, code] of [
      [`GET / HTTP/1.1\r\nX-A: ${'a'.repeat(9000)}`, 'head_too_large'],
      [`GET /${'a'.repeat(9000)}`, 'head_too_large'],
      [`GET /${'a'.repeat(8500)} HTTP/1.1\r\nHost: a\r\n\r\n`, 'target_too_long'],
      ['GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n', 'expectation_failed'],
      ['POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 'bad_message'],
    ] as const)
      assert.match(await set.exchange(bytes), new RegExp(`^HTTP/1\\.1 400 Fine\r\n.*\r\n\r\n${code}$`, 's'))
  })

  test('whose client half-closes within the body get a response', async () => {
    await using set = await start(echo)
    const client = await set.connect()
    client.socket.end('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf')
    assert.match(await client.readToEnd(), /^HTTP\/1\.1 400 .*bad_message$/s)
  })

  test('must be complete in time, however steadily they arrive', async () => {
    await using set = await start(echo, { limits: { requestMs: 300 } })
    const client = await set.connect()
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n')
    const timer = setInterval(() => client.send('x'), 20)
    assert.match(await client.readToEnd(), /^HTTP\/1\.1 400 .*request_timeout$/s)
    clearInterval(timer)
  })

  test('may take longer in all on one connection', async () => {
    await using set = await start(echo, { limits: { requestMs: 200 } })
    const client = await set.connect()
    for (let round = 0; round < 4; round++) {
      client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab')
      await new Promise(resolve => setTimeout(resolve, 80))
      client.send('cd')
      assert.equal((await client.answer()).body, 'abcd')
    }
    client.close()
  })
})

suite('a response', () => {
  test('can be the last of its connection', async () => {
    await using set = await start(async () => ({ ...replyOf('ok'), isLast: true }))
    const text = await set.exchange('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2))
    assert.match(text, /^HTTP\/1\.1 200 Fine\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok$/)
  })

  test('says that it closes the connection because a long body is not read', async () => {
    await using set = await start(async () => replyOf('no'))
    const client = await set.connect()
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\nx')
    assert.match(await client.readToEnd(), /Connection: close\r\n\r\nno$/)
    const other = await set.connect()
    other.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx')
    assert.doesNotMatch((await other.answer()).head, /close/)
    other.send('rest body')
    other.close()
  })

  test('without an end of its own ends when its client half-closes, before or after it began', async () => {
    const cancelled: string[] = []
    const opened = Promise.withResolvers<void>()
    const endless = ({ head }: Exchange): Promise<Reply> => {
      const body: Body = {
        ...noBody,
        framing: { kind: 'chunked' },
        read: sink => sink.data(Buffer.from('1\r\na\r\n')),
        cancel: () => cancelled.push(head.target),
      }
      const reply = { ...replyOf(''), body, isEndless: true }
      return head.target === '/late' ? opened.promise.then(() => reply) : Promise.resolve(reply)
    }
    await using set = await start(endless)
    const [late, running] = [await set.connect(), await set.connect()]
    late.socket.end('GET /late HTTP/1.1\r\nHost: a\r\n\r\n')
    running.send('GET /running HTTP/1.1\r\nHost: a\r\n\r\n')
    await running.received('a')
    running.socket.end()
    await running.readToEnd()
    assert.deepEqual(cancelled, ['/running'])
    opened.resolve()
    assert.equal(await late.readToEnd(), '')
    assert.deepEqual(cancelled, ['/running', '/late'])
  })
})
