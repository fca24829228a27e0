import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { createServer as createTlsServer, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { buffer } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import type { Endpoint } from '#http/exchange.ts'
import { bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { serveHttp1 } from '#http/http1-server-connection.ts'
import { serveHttp2 } from '#http/http2/server.ts'
import { Admission } from '#gateway/listeners/admission.ts'
import type { TlsIdentity } from '#pki/local-authority.ts'
import { AUTHORITY, issue, type Identity as OpensslIdentity } from '../../support/openssl.ts'
import {
  ask,
  helloBytes,
  HOST,
  newAuthority,
  open,
  portOf,
  startHttps,
  startUpstream,
  ticket,
  tunnelTo,
  visit,
  type TestHttps,
} from './support.ts'
import { Folder } from '../../support/folder.ts'

const peerName = (socket: TLSSocket): string => String(socket.getPeerX509Certificate()?.subjectAltName)

suite('HTTPS clients', () => {
  test('get the local certificate for names of the shared domain, and are described', async () => {
    await using https = await startHttps()
    const client = await visit(https.port, { servername: 'Shop.Adit.localhost', ca: https.authority.rootPem })
    assert.equal(client.authorized, true)
    const local = { ip: client.localAddress, port: client.localPort }
    const { since, tls, ...described } = await ask(client)
    assert.equal(typeof since, 'number')
    const { handshakeMs, ...parameters } = tls as { handshakeMs: number }
    assert.ok(handshakeMs > 0)
    assert.deepEqual(parameters, { version: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256' })
    assert.deepEqual(described, {
      protocol: 'http/1.1',
      ...local,
      localIp: HOST,
      localPort: https.port,
      scheme: 'https',
      serverName: 'shop.adit.localhost',
    })
  })

  test('get a local certificate issued on demand for other names that are served, and for no others', async () => {
    const serves = (name: string) => name.endsWith('.example')
    await using https = await startHttps({}, { serves })
    const ca = https.authority.rootPem
    const names = ['a.example', 'b.example', 'a.example']
    const clients = await Promise.all(names.map(servername => visit(https.port, { servername, ca })))
    assert.deepEqual(clients.map(peerName), ['DNS:a.example', 'DNS:b.example', 'DNS:a.example'])
    const stranger = await visit(https.port, { servername: 'c.test', rejectUnauthorized: false })
    assert.match(peerName(stranger), /adit\.localhost/)
    for (const client of [...clients, stranger]) client.destroy()
  })

  test('get the uploaded certificate of a name, and its successor after a change', async () => {
    const other = await newAuthority()
    let uploaded: TlsIdentity = await other.issue(['shop.example'])
    await using https = await startHttps(
      {},
      { uploaded: name => (name === 'shop.example' ? uploaded : undefined) },
    )
    const serial = async () => {
      const client = await visit(https.port, { servername: 'shop.example', ca: other.rootPem })
      const number = client.getPeerX509Certificate()?.serialNumber
      client.destroy()
      return number
    }
    const first = await serial()
    assert.equal(await serial(), first)
    uploaded = await other.issue(['shop.example'])
    assert.notEqual(await serial(), first)
  })

  test('are served with the local certificate when the uploaded one cannot be read', async () => {
    const uploaded = (name: string): TlsIdentity => {
      if (name.startsWith('a')) throw new Error('unreadable')
      return { certificatePem: 'nonsense', privateKeyPem: { reveal: () => 'nonsense' } } as TlsIdentity
    }
    await using https = await startHttps({}, { uploaded })
    for (const servername of ['a.adit.localhost', 'b.adit.localhost']) {
      const client = await visit(https.port, { servername, ca: https.authority.rootPem })
      assert.equal(client.authorized, true)
      client.destroy()
    }
  })

  test('agree on HTTP/2 or HTTP/1.1, and are refused anything else', async () => {
    await using https = await startHttps()
    const options = { servername: 'localhost', ca: https.authority.rootPem }
    for (const [offer, expected] of [
      [['h2', 'http/1.1'], 'h2'],
      [['http/1.1'], 'http/1.1'],
    ] as const) {
      const client = await visit(https.port, { ...options, ALPNProtocols: [...offer] })
      assert.equal(client.alpnProtocol, expected)
      assert.equal((await ask(client))['protocol'], expected)
    }
    await assert.rejects(
      visit(https.port, { ...options, ALPNProtocols: ['smtp'] }),
      /no application protocol/,
    )
  })

  test('that disconnect during the handshake are released before its timeout', async () => {
    await using https = await startHttps({ handshakes: { deadlineMs: 600_000 } })
    const socket = await open(https.port)
    socket.write(await helloBytes({ servername: 'localhost' }))
    await once(socket.resume(), 'data')
    assert.equal(https.listener.handshaking, 1)
    await once(socket.end(), 'close')
    assert.equal(https.listener.handshaking, 0)
  })

  test('may use TLS 1.2 or 1.3, and no older version', async () => {
    await using https = await startHttps()
    const options = { servername: 'localhost', ca: https.authority.rootPem }
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const client = await visit(https.port, { ...options, minVersion: version, maxVersion: version })
      assert.equal(client.getProtocol(), version)
      client.destroy()
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
    await assert.rejects(visit(https.port, { ...options, ...old }), /alert protocol version/)
  })

  test('resume their session with another process that has the same ticket keys', async () => {
    const ticketKeys = Buffer.alloc(48, 3)
    await using one = await startHttps({}, { ticketKeys })
    await using two = await startHttps({}, { ticketKeys })
    await using stranger = await startHttps()
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const options = { servername: 'localhost', rejectUnauthorized: false, maxVersion: version }
      const session = await ticket(one.port, options)
      for (const [{ port }, resumed] of [
        [two, true],
        [stranger, false],
      ] as const) {
        const again = await visit(port, { ...options, session })
        assert.equal(again.isSessionReused(), resumed, version)
        again.destroy()
      }
    }
  })

  test('are served over HTTP/1.1 and HTTP/2', async () => {
    const answer: Endpoint = ({ client, head }) => {
      const body = bodyOf(Buffer.from(`${head.version} ${head.path} ${client.serverName}`))
      const { framing } = body
      return Promise.resolve({ head: { status: 200, reason: 'OK', framing, fields: Fields.none }, body })
    }
    await using https = await startHttps({
      http1: (socket, client) => serveHttp1(socket, { client, answer }),
      http2: (socket, client) => serveHttp2(socket, { client, answer }),
    })
    const session = connectHttp2(`https://localhost:${https.port}`, { ca: https.authority.rootPem })
    const stream = session.request({ ':path': '/two' })
    assert.equal((await buffer(stream)).toString(), '2 /two localhost')
    session.close()
    const client = await visit(https.port, { servername: 'localhost', ca: https.authority.rootPem })
    const [head, tail] = ['GET /one HTTP/1.1\r\nHost: loc', 'alhost\r\n\r\n']
    client.write(head)
    await new Promise(setImmediate)
    client.write(tail)
    const [bytes] = (await once(client, 'data')) as [Buffer]
    assert.match(bytes.toString(), /1\.1 \/one localhost$/)
    await https.listener.drain(5000)
    assert.equal(https.listener.connections, 0)
  })

  test('that speak plain HTTP get an error response', async () => {
    await using https = await startHttps()
    const client = await open(https.port)
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const answer = (await buffer(client)).toString()
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.match(answer, /plain HTTP on an HTTPS port/)
  })
})

suite('mutual TLS', () => {
  const CLOSED = 'closed.adit.localhost'
  const OPEN = 'open.adit.localhost'
  const CLIENT = ['basicConstraints=critical,CA:FALSE', 'extendedKeyUsage=clientAuth']
  let folder: Folder
  let [known, unknown]: OpensslIdentity[] = []
  let https: TestHttps

  before(async () => {
    folder = new Folder()
    const people = await issue(folder, { name: 'people', extensions: AUTHORITY })
    const strangers = await issue(folder, { name: 'strangers', extensions: AUTHORITY })
    known = await issue(folder, { name: 'known', issuer: people, extensions: CLIENT })
    unknown = await issue(folder, { name: 'unknown', issuer: strangers, extensions: CLIENT })
    const terms = { clients: { authorities: people.certificate, scope: 'edge' } }
    https = await startHttps({
      route: ({ serverName }) => ({ kind: 'http', ...(serverName === CLOSED && { config: terms }) }),
    })
  })
  after(async () => {
    await https[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const asking = (servername: string, by?: OpensslIdentity) => ({
    servername,
    ca: https.authority.rootPem,
    ...(by && { cert: by.certificate, key: by.key }),
  })

  /** Whether a request is answered; with TLS 1.3 a client learns of a refusal only after its handshake. */
  const served = async (options: ConnectionOptions): Promise<boolean> => {
    try {
      return (await ask(await visit(https.port, options)))['scheme'] === 'https'
    } catch {
      return false
    }
  }

  test('accepts only clients with a certificate of the authority', async () => {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      assert.equal(await served({ ...asking(CLOSED, known), maxVersion }), true)
      assert.equal(await served({ ...asking(CLOSED, unknown), maxVersion }), false)
      assert.equal(await served({ ...asking(CLOSED), maxVersion }), false)
      assert.equal(await served({ ...asking(OPEN), maxVersion }), true)
    }
  })

  test('cannot be bypassed with a session of a name without it', async () => {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const session = await ticket(https.port, { ...asking(OPEN), maxVersion })
      assert.equal(await served({ ...asking(OPEN), maxVersion, session }), true)
      assert.equal(await served({ ...asking(CLOSED), maxVersion, session }), false)
      assert.equal(await served({ ...asking(CLOSED, unknown), maxVersion, session }), false)
    }
  })

  test('resumes its own sessions', async () => {
    const session = await ticket(https.port, asking(CLOSED, known))
    const again = await visit(https.port, { ...asking(CLOSED), session })
    assert.equal(again.isSessionReused(), true)
    assert.equal((await ask(again))['scheme'], 'https')
  })
})

suite('TLS endpoints', () => {
  test('pass TLS through to an upstream that terminates it', async () => {
    const theirs = await newAuthority()
    const identity = await theirs.issue(['db.example'])
    const upstream = createTlsServer(
      { cert: identity.certificatePem, key: identity.privateKeyPem.reveal(), allowHalfOpen: true },
      socket => socket.pipe(socket),
    )
    await once(upstream.listen(0, HOST), 'listening')
    const ends: unknown[] = []
    const way = tunnelTo(portOf(upstream), {
      ended: (client, end) => ends.push([client.serverName, end.error]),
    })
    await using https = await startHttps({
      route: ({ serverName }) =>
        serverName === 'db.example' ? { kind: 'passthrough', upstream: way } : { kind: 'http' },
    })
    const client = await visit(https.port, {
      servername: 'db.example',
      ca: theirs.rootPem,
      allowHalfOpen: true,
    })
    assert.equal(https.listener.handshaking, 0)
    assert.equal(https.listener.streams, 1)
    const sent = Buffer.alloc(3_000_000, 'abcdefg')
    client.end(sent)
    assert.ok((await buffer(client)).equals(sent))
    await https.listener.drain(5000)
    assert.deepEqual(ends, [['db.example', undefined]])
    upstream.close()
  })

  test('terminate TLS if configured, with half-close both ways', async () => {
    await using echo = await startUpstream(socket => socket.pipe(socket))
    const way = tunnelTo(portOf(echo))
    await using https = await startHttps({ route: () => ({ kind: 'terminated', upstream: way }) })
    const client = await visit(https.port, {
      servername: 'x.adit.localhost',
      ca: https.authority.rootPem,
      ALPNProtocols: ['postgresql'],
      allowHalfOpen: true,
    })
    assert.equal(client.alpnProtocol, false, 'what is inside is not ours to agree on')
    const sent = Buffer.alloc(3_000_000, 'hijklmn')
    client.end(sent)
    assert.ok((await buffer(client)).equals(sent))
  })

  test('may have their own certificate', async () => {
    const theirs = await newAuthority()
    const identity = await theirs.issue(['own.example'])
    await using echo = await startUpstream(socket => socket.pipe(socket))
    const way = tunnelTo(portOf(echo))
    const terms = { identity, minVersion: 'TLSv1.3' } as const
    await using https = await startHttps({
      route: () => ({ kind: 'terminated', upstream: way, config: terms }),
    })
    const options = { servername: 'own.example', ca: theirs.rootPem }
    const client = await visit(https.port, options)
    assert.equal(client.authorized, true)
    client.destroy()
    await assert.rejects(visit(https.port, { ...options, maxVersion: 'TLSv1.2' }), /alert protocol version/)
  })

  test('with an unknown name can be refused', async () => {
    await using https = await startHttps({ route: () => ({ kind: 'refused' }) })
    await assert.rejects(visit(https.port, { servername: 'a.example' }), /unrecognized name/)
  })

  test('reset the client when their upstream cannot be reached', async () => {
    const upstream = { dial: () => Promise.reject(new Error('offline')) }
    await using https = await startHttps({ route: () => ({ kind: 'passthrough', upstream }) })
    await assert.rejects(visit(https.port, { servername: 'a.example' }), { code: 'ECONNRESET' })
  })
})

suite('hostile TLS clients', () => {
  test('may split their ClientHello anywhere', async () => {
    await using https = await startHttps()
    const hello = await helloBytes({ servername: 'cut.adit.localhost' })
    const cuts = [1, 2, 4, 5, 6, 9, 10, 43, 44, 100, hello.length - 1]
    for (const cut of cuts) {
      const client = (await open(https.port)).setNoDelay(true)
      client.write(hello.subarray(0, cut))
      await new Promise(setImmediate)
      client.write(hello.subarray(cut))
      const [answer] = (await once(client, 'data')) as [Buffer]
      assert.equal(answer[0], 22, `cut at ${cut}: the handshake goes on`)
      client.destroy()
    }
  })

  test('are disconnected for garbage, for silence, and for an endless ClientHello', async () => {
    const hello = await helloBytes({ servername: 'slow.adit.localhost' })
    // Garbage is rejected before the deadline, however late it is read.
    for (const [bytes, answer, deadlineMs] of [
      [Buffer.from([0x16, 3, 1, 0xff, 0xff, 1, 2, 3]), /^15030100020232$/, 600_000],
      [Buffer.from([0x80, 0x2e, 1, 3, 1]), /^15030100020232$/, 600_000],
      [Buffer.alloc(0), /^$/, 100],
      [hello.subarray(0, 100), /^$/, 100],
    ] as const) {
      await using https = await startHttps({ handshakes: { deadlineMs } })
      const client = await open(https.port)
      client.write(bytes)
      assert.match((await buffer(client)).toString('hex'), answer)
      await https.listener.drain(5000)
      assert.equal(https.listener.handshaking, 0)
    }
  })

  test('cannot block others by stalling', async () => {
    await using https = await startHttps({ handshakes: { pending: 8 } })
    const stalled = await Promise.all(Array.from({ length: 20 }, () => open(https.port)))
    const honest = await visit(https.port, { servername: 'localhost', ca: https.authority.rootPem })
    assert.equal((await ask(honest))['serverName'], 'localhost')
    assert.ok(https.listener.handshaking <= 8)
    for (const socket of stalled) socket.destroy()
  })

  test('are all served when many connect at the same time', async () => {
    await using https = await startHttps({ handshakes: { perTurn: 2 } })
    const options = { servername: 'localhost', ca: https.authority.rootPem }
    const clients = await Promise.all(Array.from({ length: 40 }, () => visit(https.port, options)))
    const answers = await Promise.all(clients.map(ask))
    assert.equal(answers.length, 40)
  })

  test('do not crash the process by errors in callbacks', async () => {
    await using broken = await startHttps({
      route: ({ serverName }) => {
        if (serverName === 'route.example') throw new Error('route')
        return { kind: 'http' }
      },
      http1: (_, { serverName }) => {
        if (serverName === 'http.example') throw new Error('http1')
        return { drain: () => undefined, cut: () => undefined }
      },
    })
    for (const servername of ['route.example', 'http.example']) {
      const client = visit(broken.port, { servername, rejectUnauthorized: false })
      await client.then(
        async socket => buffer(socket),
        (error: unknown) => assert.match(String(error), /disconnected|ECONNRESET/),
      )
    }
    assert.equal(broken.listener.connections, 0)
  })

  test('are limited to their share', async () => {
    await using https = await startHttps({ admission: new Admission({ total: 1 }) })
    const first = await visit(https.port, { servername: 'localhost', ca: https.authority.rootPem })
    await assert.rejects(open(https.port).then(buffer), { code: 'ECONNRESET' })
    first.destroy()
  })
})
