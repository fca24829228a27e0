import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { CaptureStore } from '#agent/capture/capture-store.ts'
import { CaptureTap } from '#agent/capture/capture-tap.ts'
import type { CapturedExchange } from '#agent/capture/exchange.ts'

const limits = { maxExchanges: 5, maxBytes: 1_000_000, maxMessageBytes: 10_000 }
const get = Buffer.from('GET / HTTP/1.1\r\n\r\n')
const ok = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')

const post = (size: number): Buffer =>
  Buffer.concat([Buffer.from(`POST / HTTP/1.1\r\nContent-Length: ${size}\r\n\r\n`), Buffer.alloc(size)])

suite('captured exchanges', () => {
  test('are bounded in number, and the oldest are evicted', () => {
    const store = new CaptureStore(limits)
    const tap = new CaptureTap({ store, tunnelName: 't' }, '192.0.2.1:1')
    for (let at = 0; at < 20; at++) {
      tap.sent(get)
      tap.received(ok)
    }
    assert.equal(store.size, 5)
    const ids = store.list().map(({ id }) => id)
    assert.deepEqual(ids, ids.toSorted().toReversed())
    assert.ok(store.list().every(({ status, isComplete }) => status === 200 && isComplete))
    store.clear()
    assert.deepEqual([store.size, store.bytes], [0, 0])
  })

  test('are bounded in bytes, each message and all together', () => {
    const store = new CaptureStore({ ...limits, maxExchanges: 1000, maxBytes: 50_000 })
    const tap = new CaptureTap({ store, tunnelName: 't' }, '192.0.2.1:1')
    for (let at = 0; at < 100; at++) {
      tap.sent(post(20_000))
      tap.received(ok)
      assert.ok(store.bytes <= 50_000)
    }
    const [newest] = store.list()
    assert.deepEqual([newest?.request.kept, newest?.request.isTruncated], [10_000, true])
    assert.equal(newest?.request.size, post(20_000).length)
    assert.ok(store.size > 1)
  })

  test('have their own bytes, also in memory that evicted ones have left', () => {
    const store = new CaptureStore({ maxExchanges: 1000, maxBytes: 300_000, maxMessageBytes: 100_000 })
    const tap = new CaptureTap({ store, tunnelName: 't' }, '192.0.2.1:1')
    const body = (at: number): Buffer => Buffer.alloc(20_000 + at, `${at},`)
    let oldest: CapturedExchange | undefined
    for (let at = 0; at < 60; at++) {
      tap.sent(get)
      tap.received(Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${20_000 + at}\r\n\r\n`))
      for (let from = 0; from < body(at).length; from += 7001)
        tap.received(body(at).subarray(from, from + 7001))
      oldest ??= store.list()[0]
    }
    const numbers = store.list().map(({ response }) => {
      const [, length] = /Content-Length: (\d+)/.exec(response.head.toString()) ?? []
      const at = Number(length) - 20_000
      assert.deepEqual(response.raw.subarray(response.head.length), body(at))
      return at
    })
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => b - a),
    )
    assert.ok(numbers.length > 5 && numbers.length < 20, `${numbers.length} are kept`)
    assert.equal(oldest?.isKept, false)
    assert.ok(!oldest.response.raw.includes('59,'), 'an evicted one shows bytes of a later one')
  })

  test('have the body that the method allows, also if the service repeats its head', () => {
    const store = new CaptureStore(limits)
    const tap = new CaptureTap({ store, tunnelName: 't' }, '192.0.2.1:1')
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n'
    const other = 'HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n'
    for (const [method, response] of [
      ['GET', `${head}abc`],
      ['HEAD', head],
      ['GET', `${head}def`],
      ['GET', `${other}gh`],
      ['HEAD', other],
    ] as const) {
      tap.sent(Buffer.from(`${method} / HTTP/1.1\r\n\r\n`))
      tap.received(Buffer.from(response))
      const [newest] = store.list()
      assert.deepEqual([newest?.status, newest?.isComplete], [response.startsWith(head) ? 200 : 404, true])
      assert.equal(newest?.response.raw.toString(), response)
    }
    assert.equal(store.size, 5)
  })

  test('that were cleared while they passed are not reported again', () => {
    const store = new CaptureStore(limits)
    const tap = new CaptureTap({ store, tunnelName: 't' }, '192.0.2.1:1')
    const kinds: string[] = []
    store.subscribe(({ kind }) => void kinds.push(kind))
    tap.sent(post(10))
    store.clear()
    tap.received(ok)
    assert.deepEqual(kinds, ['began', 'cleared'])
    tap.sent(post(10))
    tap.received(ok)
    assert.deepEqual(kinds.slice(2), ['began', 'responded', 'finished'])
  })

  test('that were evicted while they passed are not recorded further', () => {
    const store = new CaptureStore({ ...limits, maxExchanges: 1 })
    const first = new CaptureTap({ store, tunnelName: 'a' }, '192.0.2.1:1')
    const second = new CaptureTap({ store, tunnelName: 'b' }, '192.0.2.1:2')
    first.sent(post(100).subarray(0, 60))
    second.sent(get)
    const { bytes } = store
    first.sent(post(100).subarray(60))
    first.received(ok)
    assert.equal(store.bytes, bytes)
  })

  test('of HEAD have no body, whatever length their response has', () => {
    const store = new CaptureStore(limits)
    for (const [method, isComplete] of [
      ['HEAD', true],
      ['HEADS', false],
      ['GET', false],
    ] as const) {
      const tap = new CaptureTap({ store, tunnelName: 't' }, '192.0.2.1:1')
      tap.sent(Buffer.from(`${method} / HTTP/1.1\r\n\r\n`))
      tap.received(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n'))
      assert.equal(store.list()[0]?.isComplete, isComplete, method)
    }
  })

  test('skip interim responses, and end at another protocol', () => {
    const store = new CaptureStore(limits)
    const tap = new CaptureTap({ store, tunnelName: 't' }, '192.0.2.1:1')
    tap.sent(get)
    tap.received(
      Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 101 Switching\r\n\r\n\u0000\u0001'),
    )
    tap.sent(Buffer.from('GET /not-a-request HTTP/1.1\r\n\r\n'))
    assert.equal(store.size, 1)
    const [only] = store.list()
    assert.equal(only?.status, 101)
    assert.equal(only?.response.raw.toString(), 'HTTP/1.1 101 Switching\r\n\r\n')
  })

  test('begin with a request, wherever it is cut, and have all that is sent before the response ends', () => {
    const store = new CaptureStore(limits)
    const tap = new CaptureTap({ store, tunnelName: 't' }, '192.0.2.1:1')
    const request = post(5000)
    for (const [from, to] of [
      [0, 2],
      [2, 30],
      [30, 4000],
    ])
      tap.sent(request.subarray(from, to))
    tap.received(Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'))
    tap.sent(request.subarray(4000))
    tap.received(ok)
    // The rest of an upload that the response did not wait for, and a response to no request.
    tap.sent(Buffer.alloc(100))
    tap.received(Buffer.from('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n'))
    tap.sent(get)
    tap.received(ok)
    const [second, first, ...more] = store.list()
    assert.deepEqual(first?.request.raw, request)
    assert.equal(first?.request.head.toString(), 'POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n')
    assert.deepEqual([second?.request.raw, second?.status, more], [get, 200, []])
  })

  test('are incomplete, and the last of a connection, when the response cannot be parsed', () => {
    const store = new CaptureStore(limits)
    const tap = new CaptureTap({ store, tunnelName: 't' }, '192.0.2.1:1')
    tap.sent(get)
    tap.received(Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n'))
    tap.sent(get)
    assert.deepEqual([store.size, store.list()[0]?.isComplete, tap.isIdle], [1, false, true])
  })

  test('are incomplete when the connection breaks', () => {
    const store = new CaptureStore(limits)
    const tap = new CaptureTap({ store, tunnelName: 't' }, '192.0.2.1:1')
    tap.sent(get)
    tap.received(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'))
    tap.closed(false)
    const [only] = store.list()
    assert.equal(only?.isComplete, false)
    assert.notEqual(only?.durationMs, undefined)
  })
})
