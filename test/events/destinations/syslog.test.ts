import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { suite, test } from 'node:test'
import { createEgress } from '#base/egress-client.ts'
import { buildDestination } from '#events/destinations/index.ts'
import { syslog } from '#events/destinations/syslog.ts'
import { identity, loopback } from '../../base/egress/support.ts'
import { event, events, partsWith, refused, send } from './support.ts'
import { until } from '../../support/until.ts'
import { listening } from '../../support/net.ts'

/** Splits a stream of messages with their length before them, as a receiver does. */
class Receiver {
  readonly messages: string[] = []
  readonly sockets: Socket[] = []

  take = (socket: Socket): void => {
    this.sockets.push(socket)
    let rest = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('data', (piece: Buffer) => {
      rest = Buffer.concat([rest, piece])
      for (;;) {
        const space = rest.indexOf(0x20)
        const length = Number(rest.subarray(0, space).toString())
        if (space < 0 || rest.length < space + 1 + length) break
        assert.ok(/^[1-9]\d*$/.test(rest.subarray(0, space).toString()))
        this.messages.push(rest.subarray(space + 1, space + 1 + length).toString())
        rest = rest.subarray(space + 1 + length)
      }
    })
  }

  async has(count: number): Promise<void> {
    await until(() => this.messages.length >= count)
  }
}

const plain = (port: number) =>
  buildDestination({ syslog: { address: `127.0.0.1:${port}`, tls: false } }, partsWith())

suite('syslog', () => {
  test('sends messages of RFC 5424 over TLS, on one connection', async () => {
    const own = await identity('IP:127.0.0.1')
    const receiver = new Receiver()
    await using server = await listening(createTlsServer({ ...own }, receiver.take))
    const egress = createEgress({ allow: loopback, ca: [own.cert] })
    const destination = buildDestination(
      { syslog: { address: `127.0.0.1:${server.port}`, tls: true } },
      partsWith({ egress }),
    )
    const batch = [event('a'), event('b', { type: `${'long_type_name_'.repeat(4)} ä` })]
    await send(destination, batch)
    await send(destination, batch)
    await receiver.has(4)
    assert.equal(server.connections(), 1)
    const form =
      /^<134>1 2026-11-15T09:59:00\.123Z [\x21-\x7e]{1,255} adit \d{1,10} ([\x21-\x7e]{1,32}) - (.*)$/s
    const read = receiver.messages.map(message => form.exec(message) ?? assert.fail(message))
    assert.deepEqual(
      read.map(([, , body]) => body),
      [...batch, ...batch].map(({ body }) => body),
    )
    assert.equal(read[0]?.[1], 'ip_policy_created.v0')
    assert.equal(read[1]?.[1], 'long_type_name_long_type_name_lo')
    destination.close()
  })

  test('does not trust any certificate, nor a server without TLS', async () => {
    const own = await identity('IP:127.0.0.1')
    const receiver = new Receiver()
    await using server = await listening(createTlsServer({ ...own }, receiver.take))
    const secure = (port: number) =>
      buildDestination({ syslog: { address: `127.0.0.1:${port}`, tls: true } }, partsWith())
    const error = await refused(send(secure(server.port), events(1)))
    assert.equal(error.permanent, false)
    assert.match(error.message, /^The syslog server: The certificate of 127\.0\.0\.1 is not valid/)
    await using bare = await listening(createServer(socket => void socket.end('hello\n')))
    assert.match((await refused(send(secure(bare.port), events(1)))).message, /failed the TLS handshake/)
    assert.deepEqual(receiver.messages, [])
  })

  test('opens the connection again after it was closed', async () => {
    const receiver = new Receiver()
    await using server = await listening(createServer(receiver.take))
    const destination = plain(server.port)
    await Promise.all([send(destination, events(2)), send(destination, events(2))])
    await receiver.has(4)
    assert.equal(server.connections(), 1)
    const [first = assert.fail('no connection')] = receiver.sockets
    first.end()
    // Our side answers the end with an end: from then on it knows.
    await once(first, 'close')
    await send(destination, events(1))
    await receiver.has(5)
    assert.equal(server.connections(), 2)
    destination.close()
  })

  test('waits for a receiver that does not read, up to a timeout', async () => {
    await using server = await listening(createServer({ pauseOnConnect: true }))
    const target = { address: `127.0.0.1:${server.port}`, tls: false }
    const destination = syslog(target, partsWith(), { writeMs: 300 })
    const batch = Array.from({ length: 16 }, (_, at) => event(`e${at}`, { pad: 60_000 }))
    const fill = async () => {
      for (;;) await send(destination, batch)
    }
    const error = await refused(fill())
    assert.equal(error.permanent, false)
    assert.match(error.message, /took longer than 0\.3 seconds/)
  })

  test('ends at once when it is stopped', async () => {
    const receiver = createServer({ pauseOnConnect: true })
    await using server = await listening(receiver)
    const destination = plain(server.port)
    const controller = new AbortController()
    const batch = Array.from({ length: 16 }, (_, at) => event(`e${at}`, { pad: 60_000 }))
    const connected = once(receiver, 'connection')
    // More than the system keeps for a receiver that does not read.
    const sending = Array.from({ length: 20 }, () => destination.send(batch, controller.signal))
    const error = refused(Promise.all(sending).then(() => undefined))
    await connected
    controller.abort()
    assert.equal((await error).permanent, false)
    await Promise.allSettled(sending)
  })

  test('fails for good only for the event that is too large', async () => {
    const receiver = new Receiver()
    await using server = await listening(createServer(receiver.take))
    const error = await refused(send(plain(server.port), [event('a', { pad: 70_000 }), event('b')]))
    assert.deepEqual([error.permanent, [...error.taken]], [true, ['b']])
    await receiver.has(1)
  })

  test('is retried when the connection is refused, and waits for a valid and allowed address', async () => {
    assert.equal((await refused(send(plain(1), events(1)))).permanent, false)
    const wrong = buildDestination({ syslog: { address: 'nowhere', tls: true } }, partsWith())
    assert.match((await refused(send(wrong, events(1)))).message, /not host:port/)
    const strict = partsWith({ egress: createEgress({ allow: [] }) })
    const inside = buildDestination({ syslog: { address: '127.0.0.1:6514', tls: false } }, strict)
    assert.equal((await refused(send(inside, events(1)))).misconfigured, true)
  })

  test('takes nothing after it was closed', async () => {
    const receiver = new Receiver()
    await using server = await listening(createServer(receiver.take))
    const destination = plain(server.port)
    await send(destination, events(1))
    destination.close()
    await refused(send(destination, events(1)))
    assert.equal(server.connections(), 1)
  })
})
