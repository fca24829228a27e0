import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import { types } from '#dns/message.ts'
import { DnsRateLimit } from '#dns/rate-limit.ts'
import { MAX_GROWTH, Responder, type Result } from '#dns/responder.ts'
import { DnsServer } from '#dns/server.ts'
import { ZoneTable } from '#dns/zone.ts'
import { testLog } from '../support/secrets.ts'
import { exampleZone, UNLIMITED_RATE, opt, queryBytes, startTestDns, UdpClient } from './support.ts'
import { until } from '../support/until.ts'

const zones = new ZoneTable([exampleZone()])
const ask = queryBytes('example.com', types.A)
const isTruncated = (reply: Buffer | undefined): boolean => ((reply?.readUInt8(2) ?? 0) & 2) !== 0
const framed = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes])

const QUERIES = 20_000

suite('the rate limit', () => {
  test('gives each network its answers, and every second one above them the way to TCP', () => {
    let now = 0
    const limit = new DnsRateLimit({ perSecond: 10, burst: 3, slip: 2 }, () => now)
    const judge = (address: string, times: number) =>
      Array.from({ length: times }, () => limit.judge(address))
    const spent = ['answer', 'answer', 'answer', 'drop', 'truncate', 'drop']
    assert.deepEqual(judge('192.0.2.1', 6), spent)
    // A neighbour is the same client, another network is not.
    assert.equal(limit.judge('192.0.2.200'), 'truncate')
    assert.equal(limit.judge('192.0.3.1'), 'answer')
    assert.deepEqual(judge('2001:db8::1', 3), ['answer', 'answer', 'answer'])
    assert.equal(limit.judge('2001:db8:0:ff::9'), 'drop')
    assert.equal(limit.judge('2001:db8:0:100::9'), 'answer')
    now += 200
    assert.deepEqual(judge('::ffff:192.0.2.7', 3), ['answer', 'answer', 'drop'])
  })

  test('answers a flood over UDP with nothing longer than its queries, and TCP as ever', async () => {
    const counts = new Map<Result, number>()
    await using dns = await startTestDns({
      limit: new DnsRateLimit({ perSecond: 0, burst: 2, slip: 3 }),
      counted: result => counts.set(result, (counts.get(result) ?? 0) + 1),
    })
    using client = new UdpClient(dns.port)
    assert.ok(!isTruncated(await client.ask(ask)))
    assert.ok(!isTruncated(await client.ask(ask)))
    client.send(ask)
    client.send(ask)
    const slipped = await client.ask(ask)
    assert.ok(isTruncated(slipped))
    assert.equal(slipped.length, ask.length)
    assert.equal(counts.get('limited'), 3)
    await using tcp = await open(dns.port)
    assert.equal((await tcp.ask(ask)).readUInt16BE(6), 1)
  })

  test('keeps malformed queries from being answered without end', () => {
    const responder = new Responder({ zones, limit: new DnsRateLimit({ perSecond: 0, burst: 1, slip: 1 }) })
    const bad = ask.subarray(0, 14)
    const client = { address: '192.0.2.1', over: 'udp' } as const
    assert.equal(responder.respond(bad, client)?.length, 12)
    assert.equal(responder.respond(bad, client), undefined)
  })
})

test('no answer over UDP is much longer than its query, unless the address is proved', () => {
  const responder = new Responder({ zones, limit: new DnsRateLimit(UNLIMITED_RATE) })
  const names = [
    'example.com',
    'two.acme.example.com',
    'big.acme.example.com',
    'x.acme.example.com',
    'round.example.com',
  ]
  for (const name of names) {
    for (const type of [types.A, types.AAAA, types.NS, types.SOA, types.TXT, types.CAA, types.ANY]) {
      for (const additional of [[], [opt({ payload: 65_535 })]]) {
        const bytes = queryBytes(name, type, { additional })
        const reply = responder.respond(bytes, { address: '192.0.2.1', over: 'udp' })
        assert.ok(reply && reply.length <= MAX_GROWTH * bytes.length && reply.length <= 1232)
      }
    }
  }
})

class TcpClient implements AsyncDisposable {
  readonly socket: Socket
  readonly closed: Promise<void>
  #received = Buffer.alloc(0)

  constructor(socket: Socket) {
    this.socket = socket
    this.closed = new Promise(resolve => socket.once('close', () => resolve()))
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk])
      socket.emit('more')
    })
  }

  async ask(bytes: Buffer): Promise<Buffer> {
    this.socket.write(framed(bytes))
    return this.next()
  }

  async next(): Promise<Buffer> {
    const whole = () =>
      this.#received.length >= 2 && this.#received.length >= 2 + this.#received.readUInt16BE(0)
    while (!whole()) await once(this.socket, 'more', { signal: AbortSignal.timeout(30_000) })
    const end = 2 + this.#received.readUInt16BE(0)
    const message = this.#received.subarray(2, end)
    this.#received = this.#received.subarray(end)
    return message
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy()
  }
}

async function open(port: number): Promise<TcpClient> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return new TcpClient(socket)
}

suite('a connection', () => {
  test('has many queries answered in their order, however they are cut', async () => {
    await using dns = await startTestDns()
    await using client = await open(dns.port)
    const all = Buffer.concat(
      Array.from({ length: 200 }, (_, id) => framed(queryBytes('example.com', types.A, { id }))),
    )
    for (let at = 0; at < all.length; at += 61) client.socket.write(all.subarray(at, at + 61))
    for (let id = 0; id < 200; id++) assert.equal((await client.next()).readUInt16BE(0), id)
  })

  test('that does not read is not read from, and is let go', async () => {
    let answered = 0
    const counted = () => answered++
    await using dns = await startTestDns({ connections: { idleMs: 300 }, counted })
    await using client = await open(dns.port)
    client.socket.pause()
    // Each answer has four kilobytes: what the system takes of them is far from all.
    const long = framed(queryBytes('big.acme.example.com', types.TXT))
    client.socket.write(Buffer.concat(Array.from({ length: QUERIES }, () => long)))
    await until(() => dns.server.connections > 0)
    await until(() => dns.server.connections === 0)
    assert.ok(answered > 0 && answered < QUERIES / 2, String(answered))
  })

  test('without a whole query is closed in the end, and so is one that sends too much or noise', async () => {
    await using dns = await startTestDns({ connections: { idleMs: 200 } })
    for (const bytes of [
      Buffer.from([0, 40, 1, 2]),
      Buffer.from([0xff, 0xff, 1]),
      framed(Buffer.alloc(5)),
      framed(Buffer.alloc(20, 0xff)),
    ]) {
      await using client = await open(dns.port)
      client.socket.write(bytes)
      await client.closed
    }
  })

  test('beyond those that one network may have is refused, and has its turn when another ends', async () => {
    await using dns = await startTestDns({ connections: { perNetwork: 2 } })
    await using first = await open(dns.port)
    await using second = await open(dns.port)
    await first.ask(ask)
    await second.ask(ask)
    await using third = new TcpClient(connect(dns.port, '127.0.0.1'))
    await third.closed
    assert.equal(dns.server.connections, 2)
    first.socket.destroy()
    await until(() => dns.server.connections <= 1)
    await using again = await open(dns.port)
    await again.ask(ask)
  })
})

suite('a port', () => {
  const address = (port: number) => ({ host: '127.0.0.1', port })

  test('that is taken is an error', async () => {
    await using dns = await startTestDns()
    const other = new DnsServer({ zones, log: testLog() })
    await assert.rejects(other.listen(address(dns.port)), { code: 'EADDRINUSE' })
  })

  test('that is taken for TCP alone is given back for UDP', async () => {
    const tcp = createServer()
    await once(tcp.listen(0, '127.0.0.1'), 'listening')
    const { port } = tcp.address() as AddressInfo
    const server = new DnsServer({ zones, log: testLog() })
    await assert.rejects(server.listen(address(port)), { code: 'EADDRINUSE' })
    tcp.close()
    await once(tcp, 'close')
    assert.deepEqual(await server.listen(address(port)), address(port))
    server.close()
  })

  test('of IPv6 is served too', async () => {
    const server = new DnsServer({ zones, log: testLog() })
    const { port } = await server.listen({ host: '::1', port: 0 })
    const resolver = new Resolver({ timeout: 60_000, tries: 1 })
    resolver.setServers([`[::1]:${port}`])
    assert.deepEqual(await resolver.resolve6('any.example.com'), ['2001:db8::2'])
    server.close()
  })
})
