import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import { tcp } from '../../../agent/support.ts'
import { World } from '../world.ts'
import { head, readAnswer, Recorder, secured } from './support.ts'
import { until } from '../../../support/until.ts'

const HOST = 'a.example.test'
/** Served in the clear. */
const PLAIN = 'p.adit.localhost'
/** Who the prefaces claim to be, and who alone may enter where only some may. */
const CLAIMED = '192.0.2.1'

const SIGNATURE = '0d0a0d0a000d0a515549540a'
const ADDRESSES = 'c0000201c00002020001 01bb'.replace(' ', '')
const second = (hex: string): Buffer => Buffer.from(SIGNATURE + hex, 'hex')

/** What a proxy would send first; some of it such that a careless reader reads on past its end. */
const prefaces: readonly (readonly [name: string, bytes: Buffer])[] = [
  ['version 1', Buffer.from(`PROXY TCP4 ${CLAIMED} 192.0.2.2 1 443\r\n`)],
  ['version 1 for IPv6', Buffer.from('PROXY TCP6 2001:db8::1 2001:db8::2 1 443\r\n')],
  ['version 1, UNKNOWN', Buffer.from('PROXY UNKNOWN\r\n')],
  ['version 1 with nonsense', Buffer.from('PROXY TCP4 999.0.2.1 x y z\r\n')],
  ['version 2', second(`2111000c${ADDRESSES}`)],
  ['version 2 that says it is local', second('20000000')],
  ['version 2 with fields', second(`21110013${ADDRESSES}04000461626364`)],
  ['version 2 with a field longer than itself', second(`21110010${ADDRESSES}04ffff61`)],
  ['version 2 longer than all that comes', second(`2111ffff${ADDRESSES}`)],
  ['version 2 shorter than its addresses', second('21110001c0')],
  ['version 3', second(`3111000c${ADDRESSES}`)],
]

const codeOf = (error: NodeJS.ErrnoException): string | undefined => error.code

/** Sends and finishes; what came back until the end. */
async function said(socket: Socket, bytes: Buffer): Promise<Buffer> {
  socket.on('error', () => undefined).end(bytes)
  return buffer(socket).catch(() => Buffer.alloc(0))
}

suite('a PROXY header', () => {
  let world: World
  let service: Recorder

  before(async () => {
    world = await World.start()
    service = await Recorder.start('served')
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${service.port}` })
    await world.route(await world.edge([HOST]), '/', backend.id)
    const agent = await world.agent()
    await agent.listen({ proto: 'http', domain: PLAIN, forwardTo: `127.0.0.1:${service.port}` })
  })
  after(async () => {
    await world[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
  })

  const plain = (port: number | undefined) => connect({ port: port ?? 0, host: '127.0.0.1' })

  const clients = async (): Promise<[Socket, string][]> => [
    [plain(world.server.bound.http?.port), PLAIN],
    [await secured(world, { servername: HOST }), HOST],
  ]

  for (const [name, preface] of prefaces) {
    const behind = (host: string): Buffer => Buffer.concat([preface, Buffer.from(head('/', host))])

    test(`SEC-08 (${name}) is rejected for HTTP, in cleartext and inside TLS`, async () => {
      for (const [socket, host] of await clients()) {
        const answer = readAnswer(await said(socket, behind(host)))
        assert.equal(answer.status, 400)
        assert.deepEqual(service.taken(), [])
      }
    })

    test(`SEC-08 (${name}) is rejected before TLS, and by the agent, SSH and API listeners`, async () => {
      const { https, agent, ssh } = world.server.bound
      const api = Number(new URL(world.server.api.url).port)
      for (const port of [https?.port, agent?.port, ssh?.port, api]) {
        const answer = await said(plain(port), behind(HOST))
        assert.doesNotMatch(answer.toString('latin1'), /served|HTTP\/1\.1 [23]/)
        assert.deepEqual(service.taken(), [])
      }
    })
  }

  test('SEC-08 without one the same requests are served', async () => {
    for (const [socket, host] of await clients())
      assert.equal(readAnswer(await said(socket, Buffer.from(head('/', host)))).status, 200)
    assert.match(service.taken().join(), /X-Forwarded-For: 127\.0\.0\.1\r\n/i)
  })

  test('SEC-08 bypasses no restriction of a TCP port, and is plain data after the header of the gateway', async () => {
    const seen: Buffer[] = []
    await using behind = await tcp(socket => {
      const pieces: Buffer[] = []
      socket.on('data', (piece: Buffer) => pieces.push(piece))
      socket.on('end', () => {
        seen.push(Buffer.concat(pieces))
        socket.end()
      })
    })
    const { id } = await world.make('/ip_policies', {})
    await world.make('/ip_policy_rules', { ip_policy_id: id, cidr: `${CLAIMED}/32`, action: 'allow' })
    const addr = String((await world.make('/reserved_addrs', {}))['addr'])
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${behind.port}` })
    await world.make('/edges/tcp', {
      hostports: [addr],
      backend: { backend_id: backend.id },
      ip_restriction: { ip_policy_ids: [id] },
    })
    const agent = await world.agent()
    const tunnel = await agent.listen({ proto: 'tcp', forwardTo: behind.port, proxyProto: 1 })
    const ports = [addr, new URL(tunnel.url).host].map(each => Number(each.split(':').at(-1)))
    const [closed = 0, open = 0] = ports
    // Who may not enter is reset, at once; a port that is not open yet refuses.
    await until(
      () => new Promise<string | undefined>(tell => plain(closed).on('error', error => tell(codeOf(error)))),
      { fits: code => code === 'ECONNRESET' },
    )
    for (const [name, preface] of prefaces) {
      await said(plain(closed), preface)
      assert.deepEqual(seen.splice(0), [], name)
      await said(plain(open), preface)
      const [bytes = Buffer.alloc(0)] = seen.splice(0)
      const end = bytes.indexOf('\r\n') + 2
      assert.match(
        bytes.toString('latin1', 0, end),
        /^PROXY TCP4 127\.0\.0\.1 127\.0\.0\.1 \d+ \d+\r\n$/,
        name,
      )
      assert.deepEqual(bytes.subarray(end), preface, name)
    }
  })
})
