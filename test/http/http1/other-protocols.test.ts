import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { HttpError } from '#http/http-error.ts'
import { findRequestEnd, parseRequestHead } from '#http/http1-request-head.ts'
import { startFixture, statusOf } from './support.ts'

/** The first bytes of clients that would wait for the server, without an empty line. */
const first: Readonly<Record<string, string>> = {
  'half of a TLS hello': Buffer.from('16030100a5010000a10303', 'hex').toString('latin1'),
  'an SSH banner': 'SSH-2.0-OpenSSH_9.7\r\n',
  zeros: '\0'.repeat(64),
  mail: 'EHLO example.com\r\n',
  'a method that is too long': 'A'.repeat(33),
  'a JSON text': '{"method"',
  'a line that ends early': 'GET / HTTP',
}

suite('what is no HTTP', () => {
  test('is rejected as soon as that shows', async () => {
    await using set = await startFixture({ answer: () => Promise.reject(new Error('not asked')) })
    for (const [what, bytes] of Object.entries(first)) {
      const client = await set.connect()
      client.send(bytes)
      if (what === 'a line that ends early') client.send('\r\n')
      assert.equal(statusOf(await client.readToEnd()), 400, what)
    }
  })

  test('is rejected for the same reason however it is split', () => {
    const piece = fc.constantFrom(...'GET |/ |HTTP/1.1|HTTP/1.9|\r\n|\n|\r|Host: a|A|\0| |FOO'.split('|'))
    const reason = (found: unknown): string | undefined =>
      found instanceof HttpError ? `${found.code} ${String(found.values['reason'])}` : undefined
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 9 }), pieces => {
        const text = `${pieces.join('')}\r\n\r\n`
        const end = findRequestEnd(text)
        const whole = end instanceof HttpError || end === undefined ? end : parsed(text, end)
        for (let length = 1; length < text.length; length++) {
          const early = findRequestEnd(text.slice(0, length))
          if (typeof early === 'number') return
          if (early !== undefined) assert.equal(reason(early), reason(whole))
        }
      }),
      { numRuns: 5000 },
    )
  })
})

const parsed = (text: string, end: number) => parseRequestHead(Buffer.from(text, 'latin1'), text, end)
