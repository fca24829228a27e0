import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { build, HttpFront, records } from './support.ts'

const front = (...given: Parameters<typeof records.response>) =>
  new HttpFront(build({ top: records.response(...given) }))

suite('an HTTP response backend', () => {
  test('answers with its status, headers and content', async () => {
    await using site = front('<p>Bonjour, été</p>', 418, { 'Content-Type': 'text/html', 'X-One': '1' })
    const { status, head, body } = await site.get()
    assert.deepEqual([status, Buffer.from(body, 'latin1').toString()], [418, '<p>Bonjour, été</p>'])
    assert.match(head, /\r\nContent-Type: text\/html\r\nX-One: 1\r\n/)
    assert.doesNotMatch(head, /text\/plain/)
    assert.equal(site.backend.dial, undefined)
  })

  test('sends text by default', async () => {
    await using site = front('hello')
    assert.match(
      (await site.get()).head,
      /^HTTP\/1\.1 200 OK\r\nContent-Type: text\/plain; charset=utf-8\r\n/,
    )
  })

  test('serves consecutive requests of a connection, with and without a body', async () => {
    await using site = front('hello')
    const client = await site.connect()
    client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    assert.equal((await client.answer()).body, 'hello')
    client.send(
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcHEAD / HTTP/1.1\r\nHost: a\r\n\r\n',
    )
    assert.equal((await client.answer()).body, 'hello')
    const head = await client.until(text => text.includes('\r\n\r\n'))
    assert.match(head, /\r\nContent-Length: 5\r\n/i)
    assert.ok(head.endsWith('\r\n\r\n'))
    client.close()
  })

  for (const status of [204, 205, 304])
    test(`has no content with the status ${status}`, async () => {
      await using site = front('hidden', status)
      const client = await site.connect()
      client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
      const text = await client.readToEnd()
      assert.equal(text.match(new RegExp(`HTTP/1.1 ${status} `, 'g'))?.length, 2)
      assert.doesNotMatch(text, /hidden|text\/plain/)
    })

  test('ignores framing and hop-by-hop headers', async () => {
    await using site = front('hello', 200, {
      'Content-Length': '1',
      'transfer-encoding': 'chunked',
      Connection: 'close',
      'Keep-Alive': 'timeout=1',
      Upgrade: 'h2c',
      Trailer: 'X',
      'Adit-Error-Code': 'ERR_ADIT_1',
      'adit-request-id': 'mine',
      'X-Kept': 'yes',
    })
    const { head, body } = await site.get()
    assert.equal(body, 'hello')
    assert.match(head, /\r\nContent-Length: 5\r\n/i)
    assert.match(head, /\r\nX-Kept: yes\r\n/)
    assert.doesNotMatch(head, /chunked|timeout=1|h2c|Trailer|ERR_ADIT_1|mine|Content-Length: 1\r/i)
  })

  test('allows no header injection', async () => {
    await using site = front('hello', 200, {
      'X-Line': 'a\r\nX-Made: 1',
      'X-Wide': 'a\u010d\u010aX-Made: 2',
      'X-Made: 3\r\nX': 'a',
      '': 'a',
      'X-Plain': 'ü',
    })
    const { head } = await site.get()
    assert.doesNotMatch(head, /\r\nX-Made|\r\nX-Line/)
    assert.match(Buffer.from(head, 'latin1').toString(), /\r\nX-Plain: ü\r\n/)
  })
})
