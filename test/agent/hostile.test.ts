import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { type Agent, connect } from '#agent/index.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { RecordingSink, frame, uint32 } from '../tunnel/support.ts'
import { type GatewayEnd, ScriptedGateway } from './scripted-gateway.ts'
import { disposable, StatusLog, tcp } from './support.ts'

const text = (length: number): string => 'x'.repeat(length)
const escape = '\u001b]0;owned\u0007\u001b[2J'

/** No test may cause an uncaught error. */
const faults: unknown[] = []
process.on('uncaughtException', error => faults.push(error))
process.on('unhandledRejection', error => faults.push(error))

suite('a hostile gateway', () => {
  const auths: readonly [name: string, answer: object][] = [
    ['with an answer that is too large', { Version: '3', ClientId: 'x', Extra: { Banner: text(2_000_000) } }],
    ['with an id that is no text', { Version: '3', ClientId: { toString: 1 } }],
    [
      'with addresses without end',
      { ClientId: 'x', Extra: { ConnectAddresses: Array.from({ length: 1000 }, () => ({})) } },
    ],
    ['with nothing but an error that has no text', { Error: '\r\n\r\n' }],
    ['with a list', [] as object],
  ]
  for (const [name, answer] of auths) {
    test(`when an agent signs in, ${name}, is retried and does no harm`, async () => {
      await using gateway = await ScriptedGateway.start({
        auth: (_, count) => (count < 2 ? answer : { Version: '3', ClientId: 'ts_1' }),
      })
      await using agent = disposable(await connect(gateway.options()))
      assert.equal(agent.sessionId, 'ts_1')
      assert.equal(gateway.ends.length, 3)
    })
  }

  test('cannot write control characters to a terminal', async () => {
    await using gateway = await ScriptedGateway.start({
      auth: () => ({ ClientId: 'x', Extra: { Region: escape, Version: `1${escape}` } }),
      bind: ({ Proto }) =>
        Proto === 'tcp'
          ? { Error: `no ${escape}` }
          : { Id: '1', URL: `https://a${escape}`, Extra: { Token: '' } },
    })
    await using agent = disposable(await connect(gateway.options()))
    const tunnel = await agent.listen({ forwardTo: 1 })
    const refused = await agent.listen({ proto: 'tcp', forwardTo: 1 }).catch((error: Error) => error)
    const shown = [agent.status.region, agent.status.serverVersion, tunnel.url, (refused as Error).message]
    for (const shownText of shown) assert.doesNotMatch(shownText ?? '', /\p{Cc}/u)
    assert.match((refused as Error).message, /^no /)
  })

  const binds: readonly [name: string, answer: object][] = [
    ['without an id', { Id: '', URL: 'https://a', Extra: {} }],
    ['with an id that another tunnel has', { Id: 'taken', URL: 'https://a', Extra: {} }],
    ['with an id like a path', { Id: text(300), URL: 'https://a', Extra: {} }],
    ['with a number for a URL', { Id: 'x', URL: 7, Extra: {} }],
  ]
  for (const [name, answer] of binds) {
    test(`when a tunnel is requested, ${name}, is rejected, and other tunnels are unaffected`, async () => {
      await using gateway = await ScriptedGateway.start({
        bind: (_, end) => (end.binds.length === 1 ? { Id: 'taken', URL: 'https://a', Extra: {} } : answer),
      })
      await using agent = disposable(await connect(gateway.options()))
      const good = await agent.listen({ forwardTo: 1 })
      await assert.rejects(agent.listen({ forwardTo: 1 }), { name: 'AgentError', code: 'ERR_ADIT_90086' })
      assert.deepEqual(agent.tunnels, new Set([good]))
      assert.equal(agent.status.state, 'online')
    })
  }

  /** What a gateway may open on a healthy session; afterwards a client must be served as before. */
  const openings: readonly [name: string, attack: (end: GatewayEnd, agent: Agent) => Promise<unknown>][] = [
    ['a connection to a tunnel that is not there', end => end.visit('../../etc/passwd', 'hello')],
    ['a header that is too long', end => end.session.open(streamTypes.proxy, le(1_000_000))],
    ['a header of negative length', end => end.session.open(streamTypes.proxy, le(-1))],
    [
      'a header that is no JSON',
      end => end.session.open(streamTypes.proxy, Buffer.concat([le(4), Buffer.from('oops')])),
    ],
    ['a header that is half there', end => end.session.open(streamTypes.proxy, le(100))],
    ['a stream of an unknown type', end => end.session.open(77, randomBytes(1000))],
    ['a request to sign in', end => end.session.open(streamTypes.auth, Buffer.from('{}'))],
    ['a command that is no JSON', end => end.session.open(streamTypes.stop, Buffer.from('xx'))],
    [
      'an update of the wrong form',
      end => end.session.open(streamTypes.update, Buffer.from('{"Version":[1]}')),
    ],
    [
      'a tunnel to stop that is not there',
      end => end.session.open(streamTypes.stopTunnel, Buffer.from('{"Id":"z"}')),
    ],
    [
      'a thousand commands that never end',
      end =>
        Promise.all(Array.from({ length: 400 }, () => end.session.open(streamTypes.stop, Buffer.from('{')))),
    ],
    [
      'a heartbeat of odd bytes',
      async end => (await end.session.open(streamTypes.heartbeat)).write(randomBytes(4001)),
    ],
  ]
  for (const [name, attack] of openings) {
    test(`that opens ${name} does not affect the agent`, async () => {
      await using service = await tcp(socket => socket.end('alive'))
      await using gateway = await ScriptedGateway.start()
      await using agent = disposable(await connect(gateway.options()))
      const tunnel = await agent.listen({ proto: 'tcp', forwardTo: service.port })
      const end = gateway.ends[0]
      assert.ok(end)
      await attack(end, agent)
      const stream = await end.visit(tunnel.id)
      const ear = new RecordingSink()
      stream.attach(ear)
      await ear.whenEnded
      assert.equal(ear.text, 'alive')
      assert.equal(gateway.ends.length, 1)
    })
  }

  const frames: readonly [name: string, bytes: Buffer][] = [
    ['bytes at random', randomBytes(100_000)],
    ['a frame of an unknown type', frame(0x70, 2, 'x')],
    ['a stream with an id of ours', frame(0x12, 3, uint32(3))],
    ['a stream twice', Buffer.concat([frame(0x12, 2, uint32(3)), frame(0x12, 2, uint32(3))])],
    ['a GOAWAY that says nothing', frame(0x30, 0)],
    [
      'credit beyond all numbers',
      Buffer.concat([frame(0x20, 3, uint32(0x7fff_ffff)), frame(0x20, 3, uint32(0x7fff_ffff))]),
    ],
    [
      'the largest frame there is',
      Buffer.concat([frame(0x12, 2, uint32(3)), frame(0x10, 2, text(16_000_000))]),
    ],
  ]
  for (const [name, bytes] of frames) {
    test(`that sends ${name} is disconnected or tolerated, and never crashes the agent`, async () => {
      let count = 0
      await using gateway = await ScriptedGateway.start({
        raw: (socket: TLSSocket) => {
          count++
          socket.resume()
          socket.write(bytes)
          socket.end()
        },
      })
      const log = new StatusLog()
      const stop = new AbortController()
      const connecting = connect(gateway.options({ onStatus: log.onStatus, signal: stop.signal }))
      await log.next(() => count >= 3, 3)
      assert.ok(log.seen.every(({ state }) => state === 'connecting'))
      stop.abort()
      await assert.rejects(connecting, { name: 'AgentError' })
    })
  }

  test('that opens more connections than the agent accepts is refused the rest', async () => {
    await using service = await tcp(() => undefined)
    await using gateway = await ScriptedGateway.start()
    await using agent = disposable(await connect(gateway.options({ maxConnections: 3 })))
    const tunnel = await agent.listen({ proto: 'tcp', forwardTo: service.port })
    const end = gateway.ends[0]
    const ears: RecordingSink[] = []
    for (let count = 0; count < 4; count++) {
      const ear = new RecordingSink()
      const stream = await end?.visit(tunnel.id, 'x')
      stream?.attach(ear)
      ears.push(ear)
    }
    const error = (await ears[3]?.whenClosed) as { code?: string } | undefined
    assert.equal(error?.code, 'stream_refused')
    assert.ok(service.sockets.size <= 3)
  })

  test('has caused no uncaught error', () => assert.deepEqual(faults, []))
})

/** The length in front of a proxy header. */
function le(length: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64LE(BigInt(length))
  return bytes
}
