import 'reflect-metadata'
import assert from 'node:assert/strict'
import { ExtendedKeyUsage } from '@peculiar/x509'
import { after, before, suite, test } from 'node:test'
import { terminate } from '#tls/terminate.ts'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { Contexts } from '#tls/contexts.ts'
import { Secret } from '#base/secrets.ts'
import { HOST, portOf, ticket, visit } from '../gateway/listeners/support.ts'
import { authority, issueCertificate, type TestCertificate } from './test-certificates.ts'
import { NAME, sClient, startMutualTls, VERSIONS, type MutualTlsServer, type Seen } from './support.ts'
import { Folder } from '../support/folder.ts'

const HOUR = 3_600_000
const SPOKEN = { 'TLSv1.2': '-tls1_2', 'TLSv1.3': '-tls1_3' } as const

/** A session keeps the certificate, and not the authorities above it. */
const withoutChain = (seen: Record<string, unknown> | undefined): object => ({
  ...Object(seen?.['certificate']),
  chain: [],
})

suite('SEC-21: a session begun with a certificate', () => {
  let folder: Folder
  let server: MutualTlsServer
  let [people, others, known, unknown]: TestCertificate[] = []

  before(async () => {
    folder = new Folder()
    ;[people, others] = [await authority({ name: 'people' }), await authority({ name: 'others' })]
    ;[known, unknown] = [
      await issueCertificate({ issuer: people }),
      await issueCertificate({ issuer: others }),
    ]
    for (const [name, one] of Object.entries({ known, unknown })) {
      await folder.write(`${name}.crt`, one.chain)
      await folder.write(`${name}.key`, one.keyPem)
    }
    server = await startMutualTls(terms('edge 1'))
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const terms = (scope: string, authorities = people?.pem ?? '') => ({ clients: { scope, authorities } })
  const doors = {
    'another edge with the same authorities': () => terms('edge 2'),
    'the same edge with other authorities': () => terms('edge 1', others?.pem),
    'the same edge with more authorities': () => terms('edge 1', `${people?.pem}${others?.pem}`),
    'an edge that asks for none': () => ({}),
  }

  test('is resumed at its own edge, and the service gets the same client identity', async () => {
    server.config = terms('edge 1')
    for (const maxVersion of VERSIONS) {
      const first = await server.meet(known, { maxVersion })
      const session = await ticket(server.https.port, server.by(known, { maxVersion }))
      const again = await visit(server.https.port, server.by(undefined, { maxVersion, session }))
      assert.equal(again.isSessionReused(), true)
      again.destroy()
      const seen = await server.meet(undefined, { maxVersion, session })
      assert.ok(first?.['certificate'])
      assert.deepEqual(withoutChain(seen), withoutChain(first))
    }
  })

  for (const [where, termsThere] of Object.entries(doors)) {
    test(`is not resumed at ${where}`, async () => {
      for (const maxVersion of VERSIONS) {
        server.config = terms('edge 1')
        const session = await ticket(server.https.port, server.by(known, { maxVersion }))
        server.config = termsThere()
        const isOpen = server.config.clients === undefined
        const seen = await server.meet(undefined, { maxVersion, session })
        assert.equal(seen !== undefined, isOpen, `${maxVersion} without the certificate`)
        assert.equal(seen?.['certificate'], undefined)
        const again = server.by(known, { maxVersion, session })
        const client = await visit(server.https.port, again).catch(() => undefined)
        assert.notEqual(client?.isSessionReused(), true, maxVersion)
        client?.destroy()
      }
    })

    test(`is not resumed at ${where} by openssl s_client`, async () => {
      for (const version of VERSIONS) {
        server.config = terms('edge 1')
        const [begun, kept] = await begin('known', version)
        assert.ok(begun.served, begun.output)
        const same = await resume(kept, version)
        assert.ok(same.served && same.reused, same.output)
        server.config = termsThere()
        const there = await resume(kept, version)
        assert.equal(there.reused, false, there.output)
        assert.equal(there.served, server.config.clients === undefined, there.output)
      }
    })
  }

  /** Each ticket is used once at most with TLS 1.3, but a program that asks twice with one is answered twice. */
  const begin = async (
    who: string,
    version: keyof typeof SPOKEN,
    ...more: string[]
  ): Promise<[Seen, string]> => {
    const kept = folder.file(`${who}.${version}.session`)
    const by = ['-cert', folder.file(`${who}.crt`), '-key', folder.file(`${who}.key`)]
    return [await sClient(server.https.port, SPOKEN[version], ...by, '-sess_out', kept, ...more), kept]
  }
  const resume = (kept: string, version: keyof typeof SPOKEN, ...more: string[]): Promise<Seen> =>
    sClient(server.https.port, SPOKEN[version], '-sess_in', kept, ...more)

  test('is not resumed by its session id alone, without a ticket', async () => {
    server.config = terms('edge 1')
    const [begun, kept] = await begin('known', 'TLSv1.2', '-no_ticket')
    assert.ok(begun.served, begun.output)
    const again = await resume(kept, 'TLSv1.2', '-no_ticket')
    assert.equal(again.reused, false, again.output)
    assert.equal(again.served, false, again.output)
  })

  test('that was refused is not resumed either', async () => {
    server.config = terms('edge 1')
    for (const version of VERSIONS) {
      const [begun, kept] = await begin('unknown', version)
      assert.equal(begun.served, false, begun.output)
      const again = await resume(kept, version)
      assert.equal(again.served, false, again.output)
    }
  })

  test('of an edge that requires no certificate is not accepted by one that does', async () => {
    for (const maxVersion of VERSIONS) {
      server.config = {}
      const session = await ticket(server.https.port, server.by(undefined, { maxVersion }))
      server.config = terms('edge 1')
      assert.equal(await server.meet(undefined, { maxVersion, session }), undefined, maxVersion)
      assert.equal(await server.meet(unknown, { maxVersion, session }), undefined, maxVersion)
      assert.ok(await server.meet(known, { maxVersion, session }), maxVersion)
    }
  })
})

suite('SEC-21: over time, a session with a certificate', () => {
  type Version = (typeof VERSIONS)[number]
  const end = Math.ceil(Date.now() / HOUR) * HOUR + HOUR / 2
  let now = 0
  let known: TestCertificate
  let port: number
  let close: () => void
  let ends: Promise<string>

  before(async () => {
    const people = await authority()
    known = await issueCertificate({ issuer: people, to: end })
    const server = await issueCertificate({ name: NAME, usages: [ExtendedKeyUsage.serverAuth] })
    const identity = { certificatePem: server.pem, privateKeyPem: new Secret(server.keyPem) }
    const contexts = new Contexts(Buffer.alloc(48, 7), () => now)
    const listener = createServer({ pauseOnConnect: true }, socket => {
      const context = contexts.get('x', identity, { clients: { authorities: people.pem, scope: 'edge 1' } })
      const options = { context, alpn: undefined, clientCertificate: true, now: () => now }
      ends = terminate(socket, Buffer.alloc(0), options).then(
        secured => {
          secured.end('hello')
          return secured.isSessionReused() ? 'resumed' : 'begun'
        },
        (error: Error) => error.message,
      )
    })
    await once(listener.listen(0, HOST), 'listening')
    port = portOf(listener)
    close = () => listener.close()
  })
  after(() => close())

  const by = (maxVersion: Version) => ({ maxVersion, rejectUnauthorized: false, servername: NAME })

  /** The end of a handshake with a ticket that was given at another time, and with nothing else. */
  async function resumed(version: Version, given: number, used: number): Promise<string> {
    now = given
    const session = await ticket(port, { ...by(version), cert: known.chain, key: known.keyPem })
    now = used
    const client = await visit(port, { ...by(version), session }).catch(() => undefined)
    client?.on('error', () => undefined)
    client?.resume()
    if (client !== undefined && !client.closed) await once(client, 'close').catch(() => undefined)
    return ends
  }

  for (const version of VERSIONS) {
    test(`is resumed within its hour (${version})`, async () => {
      assert.equal(await resumed(version, end - HOUR / 4, end - HOUR / 8), 'resumed')
    })

    test(`needs a full handshake in the next hour (${version})`, async () => {
      assert.match(await resumed(version, end - HOUR, end - HOUR / 4), /peer did not return a certificate/)
    })

    test(`does not outlive the certificate (${version})`, async () => {
      assert.match(await resumed(version, end - HOUR / 4, end + HOUR / 4), /has expired/)
    })
  }
})
