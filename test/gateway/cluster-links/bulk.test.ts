import assert from 'node:assert/strict'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect, createServer } from 'node:tls'
import { TlsTransport } from '#gateway/cluster-links/tls-transport.ts'
import { PeerLinks } from '#gateway/cluster-links/peer-links.ts'
import { LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'
import { DialError } from '#registry/agent-dialer.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { encodeProxyHeader, readProxyHeader } from '#tunnel/proxy-header.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'
import { freePort } from '../../support/free-ports.ts'
import { tunnelRecord } from '../../support/records.ts'
import { testLog } from '../../support/secrets.ts'

const MEBIBYTE = 1_048_576
const EACH = (process.env['TEST_LONG'] === '1' ? 64 : 4) * MEBIBYTE
const STREAMS = 6
const LARGEST_WRITE = 300_000

const tunnel = tunnelRecord({ id: 'tn_bulk', node: 'b', address: { scheme: 'tcp', host: '', port: 1 } })
const header = {
  Id: tunnel.id,
  ClientAddr: '192.0.2.1:1234',
  Proto: 'tcp',
  EdgeType: '0',
  PassthroughTLS: false,
}

/** Returns all that it gets. */
async function echo(stream: TunnelStream): Promise<void> {
  await readProxyHeader(stream)
  stream.attach({
    data: bytes => {
      if (!stream.write(bytes)) stream.pause()
    },
    writable: () => stream.resume(),
    end: () => stream.end(),
    closed: () => undefined,
  })
}

/** The session of an agent that echoes, over TLS as all agents have it. */
async function agentSession(authority: LocalAuthority, parts: DisposableStack): Promise<MuxSession> {
  const { certificatePem, privateKeyPem } = await authority.issue(['localhost'])
  const server = createServer({ cert: certificatePem, key: privateKeyPem.reveal() }).listen(0, '127.0.0.1')
  parts.defer(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const accepted = once(server, 'secureConnection')
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: authority.rootPem })
  const agent = new MuxSession(socket, { role: 'client', accept: (_, stream) => void echo(stream) })
  const [ours] = (await accepted) as [typeof socket]
  parts.defer(() => agent.close())
  return new MuxSession(ours, { role: 'server' })
}

/** Two nodes, the second of which has the agent. */
async function nodes(parts: AsyncDisposableStack): Promise<PeerLinks> {
  const authority = await LocalAuthority.open(await makeLocalRoot('test'))
  const agent = await agentSession(authority, parts.use(new DisposableStack()))
  const addresses = new Map<string, { host: string; port: number }>()
  for (const node of ['a', 'b']) addresses.set(node, { host: '127.0.0.1', port: await freePort() })
  const links = async (node: string, dial: () => Promise<ByteStream>): Promise<PeerLinks> => {
    const log = testLog()
    const address = addresses.get(node) ?? assert.fail(node)
    const addressOf = (other: string) => addresses.get(other)
    const transport = await TlsTransport.create({ node, authority, address, addressOf, log })
    const tunnels = new Map([[tunnel.id, tunnel]])
    const made = new PeerLinks({
      node,
      tunnels,
      transports: [transport],
      transportTo: () => transport,
      local: { dial },
      log,
    })
    await made.listen()
    parts.defer(() => made.close())
    return made
  }
  await links('b', () => agent.open(streamTypes.proxy, encodeProxyHeader(header)))
  return links('a', () => Promise.reject(new DialError('offline', 'no agent here')))
}

/** Sends all bytes in writes of all sizes, reads the response meanwhile, and resolves to its hash. */
async function exchange(stream: ByteStream, sent: Buffer, isSlow: boolean): Promise<string> {
  const { promise: closed, resolve, reject } = Promise.withResolvers<void>()
  const hash = createHash('sha256')
  let read = Promise.resolve()
  let at = 0
  const send = (): void => {
    while (at < sent.length) {
      const piece = sent.subarray(at, at + randomInt(1, LARGEST_WRITE))
      at += piece.length
      if (!stream.write(piece)) return
    }
    stream.end()
  }
  /** Until then nothing may have changed the bytes. */
  const readLater = async (bytes: Buffer): Promise<void> => {
    await pause(randomInt(0, 4))
    hash.update(bytes)
    stream.resume()
  }
  stream.attach({
    data: bytes => {
      if (!isSlow) return void hash.update(bytes)
      stream.pause()
      read = readLater(bytes)
    },
    writable: send,
    end: () => undefined,
    closed: error => (error === undefined ? resolve() : reject(error)),
  })
  send()
  await closed
  await read
  return hash.digest('hex')
}

suite('bulk between gateway processes', () => {
  test('arrives unchanged in both directions, of several streams at once and with slow readers', async () => {
    await using parts = new AsyncDisposableStack()
    const links = await nodes(parts)
    const exchanges = Array.from({ length: STREAMS }, async (_, index) => {
      const sent = randomBytes(EACH)
      const stream = await links.dial(tunnel, header, Buffer.alloc(0))
      const expected = createHash('sha256').update(sent).digest('hex')
      assert.equal(await exchange(stream, sent, index % 3 === 0), expected, `stream ${index}`)
    })
    await Promise.all(exchanges)
  })
})
