import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readBody, ask, gateway, reply } from './support.ts'
import { ACK, FRAME, frame, headers, RawPeer } from './raw-peer.ts'

const PROTOCOL_ERROR = 1

const usual: [string, string][] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'shop.example'],
  [':path', '/'],
]

const without = (name: string) => usual.filter(([key]) => key !== name)
const replaced = (name: string, value: string): [string, string][] =>
  usual.map(([key, old]) => [key, key === name ? value : old])

/** Heads that must not be forwarded, whatever the response is. */
const refused: Record<string, [string, string][]> = {
  'upper case in a name': [...usual, ['X-A', 'b']],
  'an underscore in a name': [...usual, ['content_length', '5']],
  'an underscore in the name of what gRPC does not have as metadata': [
    ...usual,
    ['content-type', 'application/grpc'],
    ['x_forwarded_for', '192.0.2.1'],
  ],
  'Transfer-Encoding': [...usual, ['transfer-encoding', 'chunked']],
  Connection: [...usual, ['connection', 'close']],
  'Keep-Alive': [...usual, ['keep-alive', '5']],
  'Proxy-Connection': [...usual, ['proxy-connection', 'x']],
  Upgrade: [...usual, ['upgrade', 'websocket']],
  'TE that is not "trailers"': [...usual, ['te', 'gzip']],
  'two :method': [...usual, [':method', 'POST']],
  'two :path': [[':path', '/a'], ...usual],
  'two :authority': [[':authority', 'a.example'], ...usual],
  'two :scheme': [[':scheme', 'https'], ...usual],
  'an unknown pseudo-header': [[':odd', 'x'], ...usual],
  ':status': [[':status', '200'], ...usual],
  ':protocol': [...replaced(':method', 'CONNECT'), [':protocol', 'websocket']],
  'a pseudo-header after a field': [...without(':path'), ['x-a', 'b'], [':path', '/']],
  'no :method': without(':method'),
  'no :path': without(':path'),
  'no :scheme': without(':scheme'),
  'no host at all': without(':authority'),
  'an odd scheme': replaced(':scheme', 'ftp'),
  ':authority and Host that differ': [...usual, ['host', 'other.example']],
  'two Host': [...without(':authority'), ['host', 'a.example'], ['host', 'a.example']],
  'an empty :authority': replaced(':authority', ''),
  'user information in :authority': replaced(':authority', 'a@b.example'),
  'a space in :authority': replaced(':authority', 'a b'),
  CONNECT: [
    [':method', 'CONNECT'],
    [':authority', 'shop.example:443'],
  ],
  TRACE: replaced(':method', 'TRACE'),
  'a method in lower case': replaced(':method', 'get'),
  'a method that is two': replaced(':method', 'GET / HTTP/1.1\r\nX: y'),
  'a fragment in :path': replaced(':path', '/a#b'),
  'a backslash in :path': replaced(':path', '/a\\b'),
  'a space in :path': replaced(':path', '/a b'),
  'a line feed in :path': replaced(':path', '/ HTTP/1.1\r\nX-A: b'),
  'a letter beyond ASCII in :path': replaced(':path', '/caf\xe9'),
  'a :path that is no path': replaced(':path', 'a'),
  'a :path that is an address': replaced(':path', 'https://shop.example/'),
  'an empty :path': replaced(':path', ''),
  'a star without OPTIONS': replaced(':path', '*'),
  'a Content-Length that is none': [...usual, ['content-length', '+5']],
  'two Content-Length': [...usual, ['content-length', '0'], ['content-length', '0']],
  'a blank in front of a value': [...usual, ['x-a', ' b']],
  'a blank behind a value': [...usual, ['x-a', 'b ']],
  'a tab behind a value': [...usual, ['x-a', 'b\t']],
  'a Content-Length without content': [...usual, ['content-length', '5']],
  'a carriage return in a value': [...usual, ['x-a', 'b\rc']],
  'a line feed in a value': [...usual, ['x-a', 'b\r\nx-b: c']],
  'a NUL in a value': [...usual, ['x-a', 'b\0c']],
  'a control character in a value': [...usual, ['x-a', 'b\x01c']],
  'a colon in a name': [...usual, ['x:a', 'b']],
  'a line feed in a name': [...usual, ['x-a\r\nx-b', 'c']],
  'a space in a name': [...usual, ['x a', 'b']],
  'an empty name': [...usual, ['', 'b']],
}

suite('a request head that is rejected', () => {
  for (const [name, pairs] of Object.entries(refused))
    test(name, async () => {
      await using host = await gateway(async () => reply(200, 'let in'))
      const wire = await RawPeer.open(host)
      wire.send(headers(1, pairs, { endStream: true }))
      const outcome = await wire.outcome(1)
      assert.ok(outcome === 'reset' || outcome === 400, `it was answered with ${outcome}`)
      assert.equal(host.seen.length, 0)
    })

  const statuses: [string, number, [string, string][]][] = [
    ['a :path that is too long', 414, replaced(':path', `/${'a'.repeat(8192)}`)],
    ['more than 32 KiB of fields', 431, [...usual, ['x-a', 'b'.repeat(33_000)]]],
    ['more than 100 fields', 431, [...usual, ...many(101)]],
    ['an expectation that is unknown', 417, [...usual, ['expect', 'wonders']]],
    ['a path above the root', 400, replaced(':path', '/../a')],
  ]
  for (const [name, status, pairs] of statuses)
    test(`${name} is answered with ${status}`, async () => {
      await using host = await gateway(async () => reply(200, 'let in'))
      const client = await host.client()
      const answer = await ask(client, Object.fromEntries(pairs))
      assert.equal(answer.status, status)
      assert.equal(host.seen.length, 0)
      const after = await ask(client, { ':path': '/' })
      assert.equal(after.text, 'let in', 'the connection serves on')
    })

  test('far too many fields are refused without a response', async () => {
    await using host = await gateway(async () => reply(200, 'let in'))
    const client = await host.client()
    await ask(client, Object.fromEntries([...usual, ...many(300)]))
    assert.equal(host.seen.length, 0)
    assert.equal((await ask(client, { ':path': '/' })).text, 'let in')
  })

  test('content that is longer or shorter than Content-Length is never complete', async () => {
    const ended: string[] = []
    await using host = await gateway(
      ({ body }) =>
        new Promise(resolve =>
          body.read(
            {
              data: () => undefined,
              end: () => ended.push('end'),
              fail: () => resolve(reply(200, '')),
            },
            false,
          ),
        ),
    )
    const client = await host.client()
    for (const content of ['abcdef', 'abcd']) {
      const answer = await ask(client, { ':path': '/', ':method': 'PUT', 'content-length': 5 }, content)
      assert.equal(answer.code, PROTOCOL_ERROR)
    }
    assert.deepEqual(ended, [])
    assert.equal(client.closed, false, 'only the streams are over')
  })

  test('an unsolicited PING acknowledgement is ignored', async () => {
    await using host = await gateway(async () => reply(200, 'let in'))
    const wire = await RawPeer.open(host)
    wire.send(frame(FRAME.ping, ACK, 0, Buffer.alloc(8)), headers(1, usual, { endStream: true }))
    assert.equal(await wire.outcome(1), 200)
  })

  test('a connection error still closes the connection', async () => {
    await using host = await gateway(async () => reply(200, 'let in'))
    const wire = await RawPeer.open(host)
    wire.send(frame(FRAME.ping, 0, 1, Buffer.alloc(8)))
    assert.equal(
      (await wire.find(({ type }) => type === FRAME.goaway))?.payload.readUInt32BE(4),
      PROTOCOL_ERROR,
    )
    await wire.gone
  })

  for (const [name, status] of [
    ['x-sum', 200],
    ['x_sum', 400],
  ] as const)
    test(`a trailer ${name} is answered with ${status}`, async () => {
      await using host = await gateway(async ({ body }) => {
        // As where content goes to a service: its failure is one of the service, too.
        const content = await readBody(body).catch(() => undefined)
        return reply(content === undefined ? 502 : 200, '')
      })
      const wire = await RawPeer.open(host)
      wire.send(
        headers(1, [[':method', 'POST'], ...usual.slice(1)], { endStream: false }),
        frame(FRAME.data, 0, 1, Buffer.from('a')),
        headers(1, [[name, '1']], { endStream: true }),
      )
      assert.equal(await wire.outcome(1), status)
    })
})

suite('a request head that is accepted', () => {
  const accepted: Record<string, [string, string][]> = {
    'OPTIONS *': [
      [':method', 'OPTIONS'],
      [':scheme', 'https'],
      [':authority', 'shop.example'],
      [':path', '*'],
    ],
    'Host instead of :authority': [...without(':authority'), ['host', 'shop.example']],
    'Host as :authority': [...usual, ['host', 'SHOP.example']],
    'a hundred fields': [...usual, ...many(100)],
    'a hundred and fifty cookies': [...usual, ...Array.from({ length: 150 }, cookie)],
    'TE: trailers': [...usual, ['te', 'trailers']],
  }
  for (const [name, pairs] of Object.entries(accepted))
    test(name, async () => {
      await using host = await gateway(async () => reply(200, 'let in'))
      const wire = await RawPeer.open(host)
      wire.send(headers(1, pairs, { endStream: true }))
      assert.equal(await wire.outcome(1), 200)
      assert.equal(host.seen[0]?.head.host, 'shop.example')
    })
})

function many(count: number): [string, string][] {
  return Array.from({ length: count }, (_, index) => [`x-${index}`, 'a'])
}

function cookie(_: unknown, index: number): [string, string] {
  return ['cookie', `c${index}=1`]
}
