import assert from 'node:assert/strict'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { before, suite, test } from 'node:test'
import fc from 'fast-check'
import { parseClientHello, hostName, MAX_PEEK, type ClientHelloResult } from '#tls/client-hello.ts'
import { helloBytes, HOST, portOf, startUpstream } from '../gateway/listeners/support.ts'

const OPTIONS = { servername: 'Shop.Example', ALPNProtocols: ['h2', 'http/1.1'] }
const EXPECTED: ClientHelloResult = {
  kind: 'hello',
  hello: { serverName: 'shop.example', alpn: ['h2', 'http/1.1'] },
}

/** The same message in records of another size. */
function recut(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5)
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size)
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part)
  }
  return Buffer.concat(records)
}

const extension = (type: number, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([type >> 8, type & 255, content.length >> 8, content.length & 255]), content])

function nameExtension(name: Buffer): Buffer {
  const entry = Buffer.concat([Buffer.from([0, name.length >> 8, name.length & 255]), name])
  return extension(0, Buffer.concat([Buffer.from([entry.length >> 8, entry.length & 255]), entry]))
}

/** A hello written by hand. */
function helloWith(...extensions: readonly Buffer[]): Buffer {
  const all = Buffer.concat(extensions)
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 9),
    Buffer.from([0, 0, 2, 0x13, 1, 1, 0, all.length >> 8, all.length & 255]),
    all,
  ])
  const message = Buffer.concat([Buffer.from([1, 0, body.length >> 8, body.length & 255]), body])
  return Buffer.concat([Buffer.from([22, 3, 1, message.length >> 8, message.length & 255]), message])
}

const nameIn = (parsed: ClientHelloResult) =>
  parsed.kind === 'hello' ? parsed.hello.serverName : parsed.kind

let hello: Buffer

before(async () => {
  hello = await helloBytes(OPTIONS)
})

suite('a ClientHello', () => {
  test('is parsed with its server name and protocols', () => {
    assert.deepEqual(parseClientHello(hello), EXPECTED)
  })

  test('of OpenSSL is parsed', async () => {
    const seen = Promise.withResolvers<Buffer>()
    await using server = await startUpstream(socket =>
      socket.once('data', bytes => {
        seen.resolve(bytes as Buffer)
        socket.destroy()
      }),
    )
    const to = `${HOST}:${portOf(server)}`
    const args = ['s_client', '-connect', to, '-servername', 'b.example', '-alpn', 'h2', '-tls1_2']
    const client = spawn('openssl', args, { stdio: ['ignore', 'ignore', 'ignore'] })
    const read = parseClientHello(await seen.promise)
    assert.deepEqual(read, { kind: 'hello', hello: { serverName: 'b.example', alpn: ['h2'] } })
    if (client.exitCode === null) await once(client, 'exit')
  })

  test('reports how many bytes are missing, wherever it is cut', () => {
    for (let size = 0; size < hello.length; size++) {
      const parsed = parseClientHello(hello.subarray(0, size))
      assert.equal(parsed.kind, 'more')
      assert.ok(parsed.kind === 'more' && parsed.bytes > size && parsed.bytes <= hello.length)
    }
  })

  test('may arrive in several records and with bytes after it', () => {
    for (const size of [hello.length - 6, 200, Math.ceil((hello.length - 5) / 16)]) {
      const cut = recut(hello, size)
      assert.deepEqual(parseClientHello(Buffer.concat([cut, Buffer.from('more')])), EXPECTED)
      for (let at = 0; at < cut.length; at++) assert.equal(parseClientHello(cut.subarray(0, at)).kind, 'more')
    }
  })

  test('in tiny records is refused, because parsing would be quadratic', () => {
    assert.equal(parseClientHello(recut(hello, 1)).kind, 'malformed')
  })

  test('that announces too much is refused at once', () => {
    const huge = Buffer.from([22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff])
    assert.deepEqual(parseClientHello(huge), { kind: 'more', bytes: 5 + 0x4000 })
    assert.equal(parseClientHello(Buffer.concat([huge, Buffer.alloc(0x4000)])).kind, 'malformed')
    assert.equal(parseClientHello(Buffer.from([22, 3, 1, 0xff, 0xff])).kind, 'malformed')
    assert.equal(parseClientHello(Buffer.from([22, 3, 1, 0, 0])).kind, 'malformed')
  })

  test('without a name, or with one that cannot be a host name, has none', () => {
    const names = [
      '',
      'a'.repeat(256),
      'a\0.example',
      'bücher.example',
      '127.0.0.1',
      '::1',
      'a..b',
      '.',
      '*',
      '-/',
    ]
    for (const name of names)
      assert.equal(nameIn(parseClientHello(helloWith(nameExtension(Buffer.from(name))))), undefined, name)
    assert.equal(nameIn(parseClientHello(helloWith())), undefined)
    assert.equal(nameIn(parseClientHello(helloWith(nameExtension(Buffer.from('A.Example.'))))), 'a.example')
  })

  test('with two names is refused, as parsers differ in which one they use', () => {
    const [a, b] = [nameExtension(Buffer.from('a.example')), nameExtension(Buffer.from('b.example'))]
    assert.equal(nameIn(parseClientHello(helloWith(a, b))), 'malformed')
    const entry = (name: string) => Buffer.concat([Buffer.from([0, 0, name.length]), Buffer.from(name)])
    const both = Buffer.concat([entry('a.example'), entry('b.example')])
    const list = extension(0, Buffer.concat([Buffer.from([0, both.length]), both]))
    assert.equal(nameIn(parseClientHello(helloWith(list))), 'malformed')
  })

  test('is not detected in other protocols', () => {
    for (const other of ['GET / HTTP/1.1', 'SSH-2.0-x', '\x80\x2e\x01\x03\x01', '\0', '\x16\x02'])
      assert.equal(parseClientHello(Buffer.from(other, 'latin1')).kind, 'not_tls')
    assert.equal(parseClientHello(Buffer.alloc(0)).kind, 'more')
  })

  test('never makes the parser throw, whatever its bytes are', () => {
    const mutation = fc.array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 })
    const check = (bytes: Buffer): void => {
      const parsed = parseClientHello(bytes)
      if (parsed.kind === 'more') assert.ok(parsed.bytes > bytes.length && parsed.bytes <= MAX_PEEK)
      if (parsed.kind === 'hello' && parsed.hello.serverName !== undefined)
        assert.equal(hostName(parsed.hello.serverName), parsed.hello.serverName)
    }
    fc.assert(
      fc.property(mutation, changes => {
        const bytes = Buffer.from(hello)
        for (const [at, value] of changes) bytes[at] = value
        check(bytes)
      }),
      { numRuns: 5000 },
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), tail =>
        check(Buffer.concat([Buffer.from([22, 3, 1, 0, Math.max(1, tail.length & 255), 1, 0, 0]), tail])),
      ),
      { numRuns: 5000 },
    )
  })
})
