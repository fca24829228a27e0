import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:tls'
import { suite, test } from 'node:test'
import { Secret } from '#base/secrets.ts'
import { Certificates, defaultNames } from '#tls/certificates.ts'
import type { Leaf } from '#pki/local-authority.ts'
import { HOST, newAuthority, newCertificates, portOf, log, visit } from '../gateway/listeners/support.ts'
import { until } from '../support/until.ts'

const DAY = 86_400_000

suite('certificates by server name', () => {
  test('cover the shared domain, loopback and the addresses of listeners by default', () => {
    const hosts = ['0.0.0.0', '192.0.2.7', '::', 'gate.example', '2001:db8::1', '127.0.0.1', '']
    assert.deepEqual(defaultNames('adit.localhost', hosts), [
      'adit.localhost',
      '*.adit.localhost',
      'localhost',
      '127.0.0.1',
      '::1',
      '192.0.2.7',
      'gate.example',
      '2001:db8::1',
    ])
  })

  test('are loaded into one context, however often they are requested', async () => {
    const { certificates } = await newCertificates({ serves: () => true })
    const standard = await certificates.contextFor(undefined)
    assert.equal(await certificates.contextFor('a.adit.localhost'), standard)
    assert.equal(await certificates.contextFor('127.0.0.1'), standard)
    const deep = await certificates.contextFor('a.b.adit.localhost')
    assert.notEqual(deep, standard, 'a wildcard stands for one label only')
    assert.equal(await certificates.contextFor('a.b.adit.localhost'), deep)
  })

  test('survive hostile names', async () => {
    const asked: string[] = []
    const { certificates } = await newCertificates({ serves: name => asked.push(name) > 0 })
    const standard = await certificates.contextFor(undefined)
    const names = [
      'a'.repeat(256),
      'a\0b',
      'bücher.example',
      '127.0.0.1',
      '::1',
      '../../x',
      '',
      '.',
      '%00',
      ' a',
    ]
    for (const name of names) assert.equal(await certificates.contextFor(name), standard, name)
    assert.deepEqual(asked, [])
  })

  test('are selected by an SNI callback', async () => {
    const { authority, certificates } = await newCertificates({ serves: name => name === 'a.example' })
    const server = createServer({ SNICallback: certificates.sniCallback }, socket => socket.end())
    await once(server.listen(0, HOST), 'listening')
    const client = await visit(portOf(server), { servername: 'a.example', ca: authority.rootPem })
    assert.equal(client.getPeerX509Certificate()?.subjectAltName, 'DNS:a.example')
    client.destroy()
    server.close()
  })

  test('are issued for a few new names at a time; other clients get the default one meanwhile', async () => {
    const authority = await newAuthority()
    const gate = Promise.withResolvers<void>()
    let issued = 0
    const slow = {
      async issue(names: readonly string[]): Promise<Leaf> {
        if (issued++ > 0) await gate.promise
        return authority.issue(names)
      },
    }
    const { certificates } = await newCertificates({ authority: slow, serves: () => true })
    const names = Array.from({ length: 50 }, (_, index) => `n${index}.example`)
    const contexts = names.map(name => certificates.contextFor(name))
    const standard = await certificates.contextFor(undefined)
    assert.equal(await contexts.at(-1), standard)
    assert.equal(issued, 5)
    gate.resolve()
    assert.notEqual(await contexts[0], standard)
  })

  test('are renewed when a third of their life is left, and the old one serves meanwhile', async () => {
    let now = Date.now()
    const authority = await newAuthority()
    const certificates = await Certificates.create({
      authority,
      names: ['a.example'],
      uploaded: () => undefined,
      serves: () => false,
      log,
      now: () => now,
    })
    const end = certificates.defaultEnd
    const server = createServer({ SNICallback: certificates.sniCallback }, socket => socket.end())
    await once(server.listen(0, HOST), 'listening')
    const served = async (): Promise<string | undefined> => {
      const client = await visit(portOf(server), { servername: 'a.example', ca: authority.rootPem })
      const { serialNumber } = client.getPeerX509Certificate() ?? {}
      client.destroy()
      return serialNumber
    }
    const before = await served()
    now += 200 * DAY
    assert.equal(await served(), before)
    now += 80 * DAY
    assert.equal(certificates.defaultEnd, end, 'the old one serves until the new one is there')
    await until(async () => (await served()) !== before)
    server.close()
  })

  test('change with the names of the installation', async () => {
    const { authority, certificates } = await newCertificates()
    await certificates.rename(defaultNames('new.example', []))
    const server = createServer({ SNICallback: certificates.sniCallback }, socket => socket.end())
    await once(server.listen(0, HOST), 'listening')
    const client = await visit(portOf(server), { servername: 'x.new.example', ca: authority.rootPem })
    assert.equal(client.authorized, true)
    client.destroy()
    server.close()
  })

  test('that were replaced are evicted, and no others', async () => {
    const other = await newAuthority()
    const [a, b] = [await other.issue(['a.example']), await other.issue(['b.example'])]
    const { certificates } = await newCertificates({ uploaded: name => (name === 'a.example' ? a : b) })
    const names = ['a.example', 'b.example', undefined]
    const contexts = () => Promise.all(names.map(name => certificates.contextFor(name)))
    const before = await contexts()
    certificates.forget(a.certificatePem)
    const after = await contexts()
    assert.deepEqual(
      after.map((context, at) => context === before[at]),
      [false, true, true],
    )
  })

  test('are refused for a configuration that cannot be applied', async () => {
    const { certificates } = await newCertificates()
    const identity = { certificatePem: 'nonsense', privateKeyPem: new Secret('nonsense') }
    const context = await certificates.contextFor('a.adit.localhost', { identity })
    assert.equal(await certificates.contextFor('b.adit.localhost'), context, 'using the local one')
    const guarded = await certificates.contextFor('a.adit.localhost', {
      identity,
      clients: { authorities: (await newAuthority()).rootPem, scope: 'edge' },
    })
    assert.notEqual(guarded, context)
  })
})
