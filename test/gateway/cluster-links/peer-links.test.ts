import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { suite, test } from 'node:test'
import type { TunnelRecord } from '#registry/directory.ts'
import { DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import { SocketFiles } from '#gateway/cluster-links/peer-transport.ts'
import { PeerLinks } from '#gateway/cluster-links/peer-links.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { isSessionLost, TunnelError } from '#tunnel/frame.ts'
import { fromDuplex } from '#tunnel/from-duplex.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'
import { testLog } from '../../support/secrets.ts'
import { tunnelRecord } from '../../support/records.ts'

const tunnelAt = (node: string): TunnelRecord =>
  tunnelRecord({ id: `tn_of_${node}`, node, address: { scheme: 'tcp', host: '', port: 1 } })

const headerOf = ({ id }: TunnelRecord): ProxyHeader => ({
  Id: id,
  ClientAddr: '192.0.2.1:1234',
  Proto: 'tcp',
  EdgeType: '0',
  PassthroughTLS: false,
})

/** Two processes' worth of links, the second of which has an agent that echoes. */
async function pair(dial?: AgentDialer['dial']) {
  const folder = mkdtempSync(join(tmpdir(), 'adit-peers-'))
  const echo = createServer({ allowHalfOpen: true }, socket => socket.pipe(socket)).listen(0, '127.0.0.1')
  await once(echo, 'listening')
  const { port } = echo.address() as AddressInfo
  const tunnels = new Map(['a', 'b'].map(node => [tunnelAt(node).id, tunnelAt(node)]))
  const socketOf = (node: string): string => join(folder, `${node}.sock`)
  const toEcho: AgentDialer['dial'] = async (_, __, first) => {
    const stream = fromDuplex(connect({ port, host: '127.0.0.1', allowHalfOpen: true }))
    if (first.length > 0) stream.write(first)
    return stream
  }
  const noAgent: AgentDialer['dial'] = () => Promise.reject(new DialError('offline', 'no agent here'))
  const links = (node: string, local: Pick<AgentDialer, 'dial'>): PeerLinks => {
    const files = new SocketFiles(node, socketOf)
    return new PeerLinks({
      node,
      tunnels,
      transports: [files],
      transportTo: () => files,
      log: testLog(),
      local,
    })
  }
  const a = links('a', { dial: noAgent })
  const b = links('b', { dial: dial ?? toEcho })
  await Promise.all([a.listen(), b.listen()])
  return {
    a,
    b,
    async [Symbol.asyncDispose]() {
      await Promise.all([a.close(), b.close()])
      echo.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** All that comes back, and how it ended. */
function collect(stream: ByteStream): Promise<{ bytes: Buffer; error: TunnelError | undefined }> {
  const pieces: Buffer[] = []
  return new Promise(resolve =>
    stream.attach({
      data: bytes => void pieces.push(Buffer.from(bytes)),
      end: () => undefined,
      closed: error => resolve({ bytes: Buffer.concat(pieces), error }),
    }),
  )
}

suite('links between gateway processes', () => {
  test('carry a connection to the process that has the agent, with its end in both directions', async () => {
    await using links = await pair()
    const tunnel = tunnelAt('b')
    const stream = await links.a.dial(tunnel, headerOf(tunnel), Buffer.from('hello '))
    const answer = collect(stream)
    stream.end(Buffer.from('there'))
    const { bytes, error } = await answer
    assert.equal(bytes.toString(), 'hello there')
    assert.equal(error, undefined)
  })

  test('carry bulk data, with flow control', async () => {
    await using links = await pair()
    const tunnel = tunnelAt('b')
    const stream = await links.a.dial(tunnel, headerOf(tunnel), Buffer.alloc(0))
    const answer = collect(stream)
    const size = 8 * 1024 * 1024
    stream.end(Buffer.alloc(size, 7))
    const { bytes } = await answer
    assert.equal(bytes.length, size)
    assert.ok(bytes.every(byte => byte === 7))
  })

  test('never forward a connection a second time', async () => {
    let asked = 0
    await using links = await pair(() => {
      asked++
      return Promise.reject(new DialError('offline', 'never'))
    })
    // By what process a knows the tunnel is at b, and b knows better: it has moved to a.
    const tunnel = tunnelAt('a')
    await assert.rejects(links.a.dial({ ...tunnel, node: 'b' }, headerOf(tunnel), Buffer.from('x')), {
      name: 'DialError',
      code: 'offline',
    })
    assert.equal(asked, 0)
  })

  test('report why a connection was not opened, without a byte for the agent', async () => {
    for (const code of ['busy', 'offline'] as const) {
      await using links = await pair(() => Promise.reject(new DialError(code, 'not now')))
      const tunnel = tunnelAt('b')
      await assert.rejects(links.a.dial(tunnel, headerOf(tunnel), Buffer.from('x')), {
        name: 'DialError',
        code,
      })
    }
  })

  test('report the loss of an agent that has accepted the connection as a reset, not as an end', async () => {
    const agent = fromDuplex(new PassThrough())
    await using links = await pair(async () => agent)
    const tunnel = tunnelAt('b')
    const stream = await links.a.dial(tunnel, headerOf(tunnel), Buffer.from('x'))
    const answer = collect(stream)
    agent.fail(new TunnelError('session_closed', 'lost'))
    assert.ok(isSessionLost((await answer).error))
  })

  test('treat a connection as sent if the link is lost before the confirmation', async () => {
    const asked = Promise.withResolvers<void>()
    await using links = await pair(() => {
      asked.resolve()
      return new Promise(() => undefined)
    })
    const tunnel = tunnelAt('b')
    const dialed = links.a.dial(tunnel, headerOf(tunnel), Buffer.from('x'))
    await asked.promise
    await links.b.close()
    assert.ok(isSessionLost((await collect(await dialed)).error))
  })

  test('report a connection as not opened if the other process closes the link before it reads it', async () => {
    let asked = 0
    await using links = await pair(async () => {
      asked++
      return fromDuplex(new PassThrough())
    })
    const tunnel = tunnelAt('b')
    await links.a.dial(tunnel, headerOf(tunnel), Buffer.from('x'))
    const dialed = links.a.dial(tunnel, headerOf(tunnel), Buffer.from('y'))
    const closed = links.b.close()
    await assert.rejects(dialed, { name: 'DialError', code: 'offline' })
    assert.equal(asked, 1)
    await closed
  })

  test('reject while the other process is down, and work again when it is up', async () => {
    await using links = await pair()
    const gone = { ...tunnelAt('b'), node: 'c' }
    await assert.rejects(links.a.dial(gone, headerOf(gone), Buffer.alloc(0)), { code: 'offline' })
    const tunnel = tunnelAt('b')
    const stream = await links.a.dial(tunnel, headerOf(tunnel), Buffer.from('x'))
    const answer = collect(stream)
    stream.end()
    assert.equal((await answer).bytes.toString(), 'x')
  })
})
