import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:tls'
import { suite, test } from 'node:test'
import { statSync } from 'node:fs'
import { Sealer } from '#base/secrets.ts'
import { isDue, LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'
import { openLocalRoot } from '#server/local-authority.ts'
import { openSqlite } from '#store/sqlite.ts'
import { runOrThrow, run } from '../support/openssh.ts'
import { Folder } from '../support/folder.ts'

const NAMES = ['localhost', '127.0.0.1', '::1', 'adit.localhost', '*.adit.localhost']
const DAY = 86_400_000

const newAuthority = async (now?: () => number) =>
  LocalAuthority.open(await makeLocalRoot('test root', now?.()), now)

suite('the local authority', () => {
  test('has a root that OpenSSL takes for an authority of servers alone', async () => {
    using folder = new Folder()
    const { rootPem } = await newAuthority()
    const file = await folder.write('ca.pem', rootPem)
    const shown = await runOrThrow('openssl', 'x509', '-in', file, '-noout', '-text')
    assert.match(shown, /Basic Constraints: critical\s+CA:TRUE, pathlen:0/)
    assert.match(shown, /Key Usage: critical\s+Certificate Sign, CRL Sign/)
    assert.match(shown, /ASN1 OID: prime256v1/)
    const root = new X509Certificate(rootPem)
    const years = (Date.parse(root.validTo) - Date.parse(root.validFrom)) / DAY / 365.25
    assert.ok(years > 9.9 && years < 10.1, `${years} years`)
  })

  test('signs certificates that OpenSSL verifies for every name', async () => {
    using folder = new Folder()
    const authority = await newAuthority()
    const leaf = await authority.issue(NAMES)
    const [root, file] = [
      await folder.write('ca.pem', authority.rootPem),
      await folder.write('leaf.pem', leaf.certificatePem),
    ]
    const verify = (...options: string[]) =>
      run('openssl', ['verify', '-x509_strict', '-CAfile', root, '-purpose', 'sslserver', ...options, file])
    for (const host of ['localhost', 'adit.localhost', 'shop.adit.localhost'])
      assert.equal((await verify('-verify_hostname', host)).code, 0, host)
    for (const ip of ['127.0.0.1', '::1']) assert.equal((await verify('-verify_ip', ip)).code, 0, ip)
    for (const host of ['a.b.adit.localhost', 'example.com'])
      assert.notEqual((await verify('-verify_hostname', host)).code, 0, host)
    const shown = await runOrThrow('openssl', 'x509', '-in', file, '-noout', '-text')
    assert.match(shown, /Basic Constraints: critical\s+CA:FALSE/)
    assert.match(shown, /Extended Key Usage:\s+TLS Web Server Authentication/)
    assert.doesNotMatch(leaf.certificatePem.slice(30), /BEGIN/, 'the root is not part of the chain')
    const client = await run('openssl', ['verify', '-CAfile', root, '-purpose', 'sslclient', file])
    assert.notEqual(client.code, 0)
  })

  test('signs certificates that the TLS client of Node takes', async () => {
    const authority = await newAuthority()
    const { certificatePem, privateKeyPem } = await authority.issue(NAMES)
    const server = createServer({ cert: certificatePem, key: privateKeyPem.reveal() }, socket => socket.end())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    for (const options of [{ host: '127.0.0.1' }, { host: '127.0.0.1', servername: 'a.adit.localhost' }]) {
      const client = connect({ port, ca: authority.rootPem, ...options })
      await once(client, 'secureConnect')
      assert.equal(client.authorized, true)
      client.destroy()
    }
    server.close()
  })

  test('signs for at most 397 days, and never beyond its own life', async () => {
    let now = Date.now()
    const authority = await newAuthority(() => now)
    const leaf = await authority.issue(['a.example'])
    const { validFrom, validTo } = new X509Certificate(leaf.certificatePem)
    assert.ok(Date.parse(validTo) - Date.parse(validFrom) < 397 * DAY)
    assert.ok(Date.parse(validFrom) < now, 'a client whose clock is a little behind is served')
    assert.deepEqual([Date.parse(validFrom), Date.parse(validTo)], [leaf.notBefore, leaf.notAfter])
    assert.equal(isDue(leaf, now + 200 * DAY), false)
    assert.equal(isDue(leaf, now + 270 * DAY), true)
    now += 9.9 * 365 * DAY
    const late = await authority.issue(['a.example'])
    assert.equal(late.notAfter, Date.parse(new X509Certificate(authority.rootPem).validTo))
  })

  test('signs for the longest of names', async () => {
    const authority = await newAuthority()
    const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.example`
    const { certificatePem } = await authority.issue([long])
    assert.equal(new X509Certificate(certificatePem).checkHost(long), long)
  })
})

suite('the local authority in the store', () => {
  test('is made once, however many processes start at the same time', async () => {
    using folder = new Folder()
    await using store = await openSqlite(folder.file('adit.db'))
    const sealer = new Sealer(Buffer.alloc(32, 7))
    const open = () => openLocalRoot({ store, sealer, dataDir: folder.path })
    const roots = (await Promise.all([open(), open(), open()])).map(root => root.certificatePem)
    assert.equal(new Set(roots).size, 1)
    assert.equal(await folder.read('ca.pem'), roots[0])
    assert.equal(statSync(folder.file('ca.pem')).mode & 0o777, 0o644)
    const leaf = new X509Certificate(
      (await (await LocalAuthority.open(await open())).issue(['x.example'])).certificatePem,
    )
    assert.ok(leaf.verify(new X509Certificate(roots[0] ?? '').publicKey))
  })

  test('has its key sealed, and its file written again when it is lost', async () => {
    using folder = new Folder()
    await using store = await openSqlite(folder.file('adit.db'))
    const sealer = new Sealer(Buffer.alloc(32, 7))
    const { certificatePem: rootPem } = await openLocalRoot({ store, sealer, dataDir: folder.path })
    const kept = await store.readMeta('local_authority')
    assert.doesNotMatch(String(kept), /PRIVATE/)
    await folder.write('ca.pem', 'something else')
    await openLocalRoot({ store, sealer, dataDir: folder.path })
    assert.equal(await folder.read('ca.pem'), rootPem)
    const other = new Sealer(Buffer.alloc(32, 8))
    await assert.rejects(openLocalRoot({ store, sealer: other, dataDir: folder.path }), /another master key/)
  })
})
