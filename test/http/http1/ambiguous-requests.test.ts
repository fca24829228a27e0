import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:net'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { type Http1Fixture, startFixture, statusOf } from './support.ts'
import { floodCases, smugglingCases, standardCases, type RequestCase } from './request-cases.ts'

interface Recorder {
  readonly upstream: Server
  /** Whole requests, and beginnings of requests that were given up. */
  readonly whole: string[]
  readonly all: string[]
}

/** A service that responds once a request is complete, and records it. */
function recorder(): Recorder {
  const all: string[] = []
  const whole: string[] = []
  const upstream = createServer(socket => {
    const index = all.push('') - 1
    socket.on('data', bytes => {
      const text = (all[index] += bytes.toString('latin1'))
      const chunked = /transfer-encoding: chunked/i.test(text)
      const length = Number(/content-length: *\t*(\d+)/i.exec(text)?.[1] ?? 0)
      const body = text.slice(text.indexOf('\r\n\r\n') + 4)
      const complete = chunked ? /(?:^|\r\n)0\r\n(?:.*\r\n)*?\r\n$/.test(body) : body.length >= length
      if (!complete) return
      whole.push(text)
      socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  return { upstream, whole, all }
}

async function check(set: Http1Fixture, [name, bytes, status]: RequestCase): Promise<void> {
  const client = await set.connect()
  client.send(bytes)
  // An accepted request leaves the connection open, unless the client ends its side.
  if (status === 200) client.socket.end()
  const text = await client.readToEnd()
  client.close()
  assert.equal(statusOf(text), status, name)
}

/** Of content that breaks the rules the beginning may have left, but never a whole request. */
function checkSeen({ whole, all }: Recorder, table: readonly RequestCase[]): void {
  const accepted = table.filter(([, , status]) => status === 200)
  assert.equal(whole.length, accepted.length)
  for (const request of all) assert.ok(whole.includes(request) || request.startsWith('POST '), request)
}

suite('an ambiguous request is rejected, and its connection closed', () => {
  for (const [title, table] of Object.entries({ 'H1-01': standardCases, 'H1-02, 03, 04': smugglingCases })) {
    test(title, async () => {
      const service = recorder()
      await using set = await startFixture(service)
      for (const verdict of table) await check(set, verdict)
      checkSeen(service, table)
    })
  }

  test('DOS-03: floods of header bytes are rejected at once', async () => {
    const service = recorder()
    await using set = await startFixture(service)
    for (const verdict of floodCases) {
      const started = performance.now()
      await check(set, verdict)
      const took = performance.now() - started
      assert.ok(took < 60_000, `${verdict[0]} took ${took} ms`)
    }
  })

  test('a request that follows a rejected one on the connection is never processed', async () => {
    const service = recorder()
    await using set = await startFixture(service)
    for (const [name, bytes, status] of standardCases) {
      if (status === 200 || bytes.startsWith('POST')) continue
      const text = await set.exchange(`${bytes}GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n`)
      assert.equal(statusOf(text), status, name)
    }
    assert.deepEqual(service.all, [])
  })

  test('the result is the same however the bytes are split', async () => {
    await using set = await startFixture(recorder())
    const usable = [...standardCases, ...smugglingCases].filter(([, bytes]) => bytes.length < 2000)
    const cases = fc.tuple(fc.constantFrom(...usable), fc.array(fc.nat(400), { maxLength: 6 }))
    await fc.assert(
      fc.asyncProperty(cases, async ([[name, bytes, status], cuts]) => {
        const places = [...new Set(cuts)].filter(cut => cut < bytes.length).toSorted((a, b) => a - b)
        const client = await set.connect()
        let from = 0
        for (const place of [...places, bytes.length]) {
          client.send(bytes.slice(from, place))
          from = place
          await new Promise(setImmediate)
        }
        if (status === 200) client.socket.end()
        const text = await client.readToEnd()
        client.close()
        assert.equal(statusOf(text), status, name)
      }),
      { numRuns: 300 },
    )
  })
})
