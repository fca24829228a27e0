import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createWeb } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { suite, test } from 'node:test'
import { connect as connectTls, createServer as createTls, type TlsOptions } from 'node:tls'
import { connect, type EndpointOptions } from '#agent/index.ts'
import type { Leaf } from '#pki/local-authority.ts'
import { LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'
import { asDuplex } from '#tunnel/duplex.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'
import { RecordingSink, recordStream } from '../tunnel/support.ts'
import { ScriptedGateway } from './scripted-gateway.ts'
import { disposable, HOST, readAll, type Service, stallAtConnect, tcp } from './support.ts'
import { until } from '../support/until.ts'
import { listening } from '../support/net.ts'
import { freePort } from '../support/free-ports.ts'

const authority = await LocalAuthority.open(await makeLocalRoot('services'))
const leaf = await authority.issue(['localhost', HOST, 'visited.test'])
const keyOf = ({ certificatePem: cert, privateKeyPem }: Leaf) => ({ cert, key: privateKeyPem.reveal() })
const echo = (socket: Socket): void => void socket.pipe(socket)

/** An agent with one tunnel, and the gateway's end of it. */
async function online(endpoint: EndpointOptions, maxConnections?: number) {
  const gateway = await ScriptedGateway.start()
  const agent = disposable(await connect(gateway.options({ maxConnections })))
  const tunnel = await agent.listen(endpoint)
  const end = gateway.ends[0]
  assert.ok(end)
  return {
    agent,
    tunnel,
    end,
    visit: (first = '', header: Partial<ProxyHeader> = {}) => end.visit(tunnel.id, first, header),
    async [Symbol.asyncDispose]() {
      await agent.close()
      await gateway[Symbol.asyncDispose]()
    },
  }
}

async function tlsService(options: TlsOptions, serve: (socket: Socket) => void): Promise<Service> {
  const server = createTls({ ...keyOf(leaf), ...options, allowHalfOpen: true } as TlsOptions, serve)
  return { ...(await listening(server)), server }
}

suite('a service that cannot be reached', () => {
  const webHeaders: Partial<ProxyHeader>[] = [{ Proto: 'http' }, { Proto: 'https' }]
  for (const header of webHeaders) {
    test(`gets an HTTP error response, on ${header.Proto}`, async () => {
      const port = await freePort()
      await using it = await online({ forwardTo: port })
      const ear = recordStream(await it.visit('POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n', header))
      await ear.whenEnded
      const [head = '', body = ''] = ear.text.split('\r\n\r\n')
      assert.match(head, /^HTTP\/1\.1 502 Bad Gateway\r\n/)
      assert.match(head, new RegExp(`Content-Length: ${body.length}\r\n`))
      assert.equal(
        body,
        `failed to dial backend: http://localhost:${port} cannot be reached: nothing listens there (ECONNREFUSED). Start the service, or use its port`,
      )
    })
  }

  test('gets an HTTP error response where a labelled tunnel is behind an HTTPS edge', async () => {
    await using it = await online({ labels: { a: 'b' }, forwardTo: await freePort() })
    const ear = recordStream(await it.visit('', { Proto: '', EdgeType: '3' }))
    await ear.whenEnded
    assert.match(ear.text, /^HTTP\/1\.1 502 /)
    const other = recordStream(await it.visit('', { Proto: '', EdgeType: '1' }))
    await other.whenEnded
    assert.equal(other.text, '')
  })

  test('closes the connection without a byte for other protocols', async () => {
    await using it = await online({ proto: 'tcp', forwardTo: await freePort() })
    const stream = await it.visit('hello')
    const ear = recordStream(stream)
    await ear.whenEnded
    assert.equal(ear.text, '')
    stream.end()
    assert.equal(await ear.whenClosed, undefined)
  })

  test('does not use up the connection limit', async () => {
    await using it = await online({ proto: 'tcp', forwardTo: await freePort() }, 2)
    for (let count = 0; count < 10; count++) {
      const stream = await it.visit('x')
      const ear = recordStream(stream)
      await ear.whenEnded
      stream.end()
      assert.equal(await ear.whenClosed, undefined)
    }
  })
})

suite('a connection to a service', () => {
  test('is opened although the machine was suspended meanwhile', async () => {
    await using service = await tcp(echo)
    await using it = await online({ proto: 'tcp', forwardTo: service.port })
    stallAtConnect()
    const stream = await it.visit('hello')
    const ear = recordStream(stream)
    stream.end()
    await ear.whenEnded
    assert.equal(ear.text, 'hello')
  })

  test('that the service resets is reset for the client', async () => {
    await using service = await tcp(socket => socket.once('data', () => socket.resetAndDestroy()))
    await using it = await online({ proto: 'tcp', forwardTo: service.port })
    const error = (await recordStream(await it.visit('x')).whenClosed) as { code?: string }
    assert.equal(error.code, 'stream_reset')
  })

  test('that the client resets is reset for the service', async () => {
    const cut = Promise.withResolvers<string>()
    await using service = await tcp(socket => {
      socket.write('ready')
      socket.on('error', (error: NodeJS.ErrnoException) => cut.resolve(error.code ?? ''))
      socket.resume()
    })
    await using it = await online({ proto: 'tcp', forwardTo: service.port })
    const stream = await it.visit()
    const received = Promise.withResolvers<void>()
    stream.attach({ data: () => received.resolve(), end: () => undefined, closed: () => undefined })
    await received.promise
    stream.reset('stream_cancelled')
    assert.equal(await cut.promise, 'ECONNRESET')
  })

  test('that the client ends and resets at the same time is closed, and not leaked', async () => {
    await using service = await tcp(socket => {
      socket.write('ready')
      socket.once('end', () => socket.end()).resume()
    })
    await using it = await online({ proto: 'tcp', forwardTo: service.port }, 1)
    /** Whether there was room for the connection. */
    const attempt = async (): Promise<boolean> => {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const stream = await it.visit()
      stream.attach({ data: () => resolve(true), end: () => undefined, closed: () => resolve(false) })
      const served = await promise
      if (!served) return false
      stream.end()
      stream.reset('stream_cancelled')
      return true
    }
    // Only one connection is allowed, so the next one shows that the last one is over.
    for (let served = 0; served < 5;) if (await attempt()) served++
    await until(() => service.sockets.size === 0)
  })

  test('that is never read does not block others', async () => {
    // One of a hundred never answers and never reads; its window fills, and the others go on.
    await using stuck = await tcp(socket => socket.pause())
    await using service = await tcp(echo)
    await using it = await online({ proto: 'tcp', forwardTo: service.port })
    const blockedTunnel = await it.agent.listen({ proto: 'tcp', forwardTo: stuck.port })
    const blocked = await it.end.visit(blockedTunnel.id)
    blocked.attach({ data: () => undefined, end: () => undefined, closed: () => undefined })
    for (let sent = 0; sent < 64; sent++) blocked.write(Buffer.alloc(1024 * 1024))
    const body = 'x'.repeat(100_000)
    const others = Array.from({ length: 99 }, async () => {
      const ear = new RecordingSink()
      const stream = await it.visit()
      stream.attach(ear)
      stream.end(Buffer.from(body))
      await ear.whenEnded
      return ear.size
    })
    assert.deepEqual(new Set(await Promise.all(others)), new Set([body.length]))
  })

  test('that speaks TLS is verified before a byte is sent', async () => {
    await using service = await tlsService({}, echo)
    await using strict = await online({ forwardTo: `https://localhost:${service.port}` })
    const ear = recordStream(await strict.visit('GET / HTTP/1.1\r\n\r\n', { Proto: 'https' }))
    await ear.whenEnded
    assert.match(ear.text, /502 Bad Gateway[^]*UNABLE_TO_VERIFY_LEAF_SIGNATURE/)
    await using lax = await online({ forwardTo: `https://localhost:${service.port}`, verifyUpstream: false })
    const stream = await lax.visit('GET / HTTP/1.1\r\n\r\n', { Proto: 'https' })
    const other = recordStream(stream)
    stream.end()
    await other.whenEnded
    assert.equal(other.text, 'GET / HTTP/1.1\r\n\r\n')
  })

  test('that speaks HTTP/2 over TLS agrees on it', async () => {
    const seen: (string | false | null)[] = []
    const service = createWeb({ ...keyOf(leaf), ALPNProtocols: ['h2', 'http/1.1'] })
    service.on('secureConnection', socket => {
      seen.push(socket.alpnProtocol)
      socket.destroy()
    })
    await once(service.listen(0, HOST), 'listening')
    const { port } = service.address() as AddressInfo
    for (const upstreamProtocol of ['http1', 'http2'] as const) {
      await using it = await online({
        forwardTo: `https://${HOST}:${port}`,
        upstreamProtocol,
        verifyUpstream: false,
      })
      const ear = recordStream(await it.visit('x', { Proto: 'https' }))
      await Promise.race([ear.whenClosed, ear.whenEnded])
    }
    assert.deepEqual(seen, ['http/1.1', 'h2'])
    service.close()
  })

  for (const version of [1, 2] as const) {
    test(`that speaks TLS gets the PROXY header of version ${version} in front of it`, async () => {
      const header =
        version === 1
          ? Buffer.from('PROXY TCP4 203.0.113.7 127.0.0.1 51234 443\r\n')
          : Buffer.concat([Buffer.from('0d0a0d0a000d0a515549540a2111000c', 'hex'), Buffer.alloc(12, 7)])
      const inner = createTls(keyOf(leaf), socket => void socket.pipe(socket))
      const preface = Promise.withResolvers<Buffer>()
      await using service = await tcp(socket => {
        socket.once('data', (bytes: Buffer) => {
          preface.resolve(bytes.subarray(0, header.length))
          socket.pause()
          if (bytes.length > header.length) socket.unshift(bytes.subarray(header.length))
          inner.emit('connection', socket)
        })
      })
      await using it = await online({
        proto: 'tcp',
        forwardTo: `tls://localhost:${service.port}`,
        proxyProto: version,
        verifyUpstream: false,
      })
      // It may come in pieces.
      const stream = await it.visit(header.subarray(0, 5).toString('latin1'))
      stream.write(Buffer.concat([header.subarray(5), Buffer.from('hello')]))
      const ear = recordStream(stream)
      assert.deepEqual(await preface.promise, header)
      stream.end()
      await ear.whenEnded
      assert.equal(ear.text, 'hello')
    })
  }
})

suite('TLS of clients', () => {
  const { cert: crt, key } = keyOf(leaf)
  const over = { host: 'visited.test', servername: 'visited.test', ca: authority.rootPem }
  const passthrough = { Proto: 'tls', PassthroughTLS: true }

  test('is passed through to a service', async () => {
    await using service = await tlsService({}, echo)
    // The scheme is that of the service; the client already speaks TLS.
    await using it = await online({ proto: 'tls', forwardTo: `tls://localhost:${service.port}` })
    const socket = connectTls({ ...over, socket: asDuplex(await it.visit('', passthrough)) })
    await once(socket, 'secureConnect')
    socket.end('end to end')
    assert.equal(String(await buffer(socket)), 'end to end')
  })

  test('is terminated in the agent when it has the certificate', async () => {
    await using service = await tcp(async socket => socket.end(`plain ${await readAll(socket)}`))
    await using it = await online({ proto: 'tls', forwardTo: service.port, terminate: { crt, key } })
    const socket = connectTls({
      ...over,
      allowHalfOpen: true,
      socket: asDuplex(await it.visit('', passthrough)),
    } as object)
    await once(socket, 'secureConnect')
    socket.end('text')
    assert.equal(String(await buffer(socket)), 'plain text')
  })

  test('is terminated in the program that accepts the connections', async () => {
    await using it = await online({
      proto: 'tls',
      onConnection: stream => void stream.pipe(stream),
      terminate: { crt, key },
    })
    const socket = connectTls({ ...over, socket: asDuplex(await it.visit('', passthrough)) })
    await once(socket, 'secureConnect')
    socket.end('echoed')
    assert.equal(String(await buffer(socket)), 'echoed')
  })

  test('is refused for clients without a certificate of the right authority', async () => {
    const clients = await LocalAuthority.open(await makeLocalRoot('clients'))
    let reached = 0
    await using service = await tcp(socket => {
      reached++
      echo(socket)
    })
    const terminate = { crt, key, clientCa: clients.rootPem }
    await using it = await online({ proto: 'tls', forwardTo: service.port, terminate })
    const attempt = async (identity: object): Promise<string> => {
      const socket = connectTls({ ...over, ...identity, socket: asDuplex(await it.visit('', passthrough)) })
      socket.on('error', () => undefined)
      socket.write('x')
      const pieces: Buffer[] = []
      socket.on('data', (bytes: Buffer) => {
        pieces.push(bytes)
        socket.end()
      })
      socket.once('end', () => socket.end())
      await new Promise(resolve => socket.once('close', resolve))
      return String(Buffer.concat(pieces))
    }
    assert.equal(await attempt({}), '')
    const stranger = await authority.issue(['someone'])
    assert.equal(await attempt({ cert: stranger.certificatePem, key: stranger.privateKeyPem.reveal() }), '')
    assert.equal(reached, 0)
  })

  test('cannot be terminated in the agent with a key that does not match', async () => {
    const other = await authority.issue(['other.test'])
    await using it = await online({ proto: 'tls', forwardTo: 1 })
    const terminate = { crt, key: other.privateKeyPem.reveal() }
    await assert.rejects(it.agent.listen({ proto: 'tls', forwardTo: 1, terminate }), {
      code: 'ERR_ADIT_90088',
    })
  })
})
