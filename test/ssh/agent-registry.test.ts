import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { after, afterEach, before, suite, test } from 'node:test'
import ssh2 from 'ssh2'
import { LocalDirectory } from '#registry/local-directory.ts'
import { Records } from '#registry/records/records.ts'
import { ResumptionTokens } from '#gateway/agents/resumption-tokens.ts'
import { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import { gatewayDeps } from '#gateway/agents/ssh-deps.ts'
import type { SshDeps } from '#ssh/deps.ts'
import { opensshHostKey } from '#ssh/host-key.ts'
import { newSshAuthority } from '#pki/ssh-authority.ts'
import { signSshCertificate } from '#pki/ssh-certificate.ts'
import { newSshKey } from '../support/openssh.ts'
import { RecordingSink } from '../tunnel/support.ts'
import { modulesFor } from '../gateway/module-parts.ts'
import { MemorySource } from '../gateway/agents/support.ts'
import { secretText, testLog } from '../support/secrets.ts'
import { INFO, newHostKey, ssh, type SshCall, TestListener, Upstream } from './support.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

const HOUR = 3_600_000

let folder: Folder
let upstream: Upstream
let listener: TestListener
let publicKey: string
let registry: AgentRegistry
let deps: SshDeps
const source = new MemorySource()
const directory = new LocalDirectory()

before(async () => {
  folder = new Folder()
  upstream = await Upstream.echo()
  const [records, log] = [new Records(), testLog()]
  source.user('usr_1')
  await records.follow(source)
  const modules = modulesFor(INFO, records)
  const resumption = new ResumptionTokens(randomBytes(32))
  registry = new AgentRegistry({ info: INFO, records, directory, modules, resumption, log })
  deps = gatewayDeps({ registry, records, log })
  listener = await TestListener.start({}, deps)
  publicKey = await newSshKey(folder, 'id', 'ed25519')
})

after(async () => {
  await listener[Symbol.asyncDispose]()
  registry.close()
  await upstream[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const call = (bind: string, command: string[], changes: Partial<SshCall> = {}) =>
  ssh({
    port: listener.port,
    key: folder.file('id'),
    flags: ['-R', `${bind}:127.0.0.1:${upstream.port}`],
    command,
    ...changes,
  })

/** A certificate for the key, by an authority that the gateway may not know. */
async function certify(publicLine: string) {
  const authority = await newSshAuthority()
  const request = {
    type: 'user',
    publicKey: publicLine,
    keyId: 'sucrt_1',
    principals: ['ann'],
    criticalOptions: {},
    extensions: { 'permit-port-forwarding': '' },
    validAfter: new Date(),
    validUntil: new Date(Date.now() + HOUR),
  } as const
  const file = await folder.write('id-cert.pub', await signSshCertificate(request, authority.privateKeyPem))
  return { authority, options: [`CertificateFile=${file}`] }
}

async function ask(url: string): Promise<string> {
  const tunnel = [...directory.tunnels.values()].find(each => each.url === url) ?? assert.fail(`no ${url}`)
  const header = { Id: tunnel.id, ClientAddr: '192.0.2.1:5', Proto: '', EdgeType: '', PassthroughTLS: false }
  const stream = await registry.dial(tunnel, header, Buffer.from('ping'))
  const ear = new RecordingSink()
  stream.attach(ear)
  stream.end()
  assert.equal(await ear.whenClosed, undefined)
  return ear.text
}

suite('ssh with the sessions of a gateway', () => {
  for (const [bind, command, url] of [
    ['80', ['http', '--name', 'shop'], 'http://shop.gw.test'],
    [
      '443',
      ['http', '--name', 'shop', '--basic-auth', `ann:${secretText('password')}`],
      'https://shop.gw.test',
    ],
    ['inbox:443', ['tls'], 'tls://inbox.gw.test'],
    ['20001', ['tcp'], 'tcp://1.tcp.gw.test:20001'],
  ] as const)
    test(`opens ${url} and closes it`, async () => {
      const id = source.put('ssh_credential', 'cr_1', { public_key: publicKey, acl: [], owner_id: 'usr_1' })
      await using client = call(bind, [...command])
      await client.waitForOutput(/-> -R/)
      assert.equal([...directory.sessions.values()][0]?.credentialId, id)
      const shown = /(\S+) -> -R/.exec(client.stdout)?.[1] ?? ''
      assert.equal(shown, url)
      assert.equal(await ask(url), 'PING')
      client.child.kill('SIGTERM')
      await client.ended
      await until(() => directory.sessions.size === 0)
      assert.equal(directory.tunnels.size, 0)
    })

  const words: readonly (readonly [command: string, url: RegExp])[] = [
    ['', /^tcp:\/\/1\.tcp\.gw\.test:20[5-9]\d\d$/],
    ['tcp', /^tcp:\/\/1\.tcp\.gw\.test:20[5-9]\d\d$/],
    ['http', /^http:\/\/[a-z0-9]{10}\.gw\.test$/],
    ['https', /^https:\/\/[a-z0-9]{10}\.gw\.test$/],
    ['tls', /^tls:\/\/[a-z0-9]{10}\.gw\.test$/],
  ]
  for (const [word, url] of words)
    test(`opens ${url.source} for -R 0 ${word}`, async () => {
      source.put('ssh_credential', 'cr_1', { public_key: publicKey, acl: [], owner_id: 'usr_1' })
      await using client = call('0', word === '' ? [] : [word])
      await client.waitForOutput(/-> -R 0/)
      const shown = /(\S+) -> -R 0/.exec(client.stdout)?.[1] ?? ''
      assert.match(shown, url)
      assert.equal(await ask(shown), 'PING')
    })

  test('reports what the access list of the key allows', async () => {
    source.put('ssh_credential', 'cr_1', {
      public_key: publicKey,
      acl: ['bind:only.gw.test'],
      owner_id: 'usr_1',
    })
    await using client = call('other:80', ['http'])
    assert.equal(await client.ended, 1)
    assert.match(client.stderr, /may not bind other\.gw\.test: its ACL allows only bind:only\.gw\.test/)
  })

  test('ends when its key is deleted', async () => {
    source.put('ssh_credential', 'cr_1', { public_key: publicKey, acl: [], owner_id: 'usr_1' })
    await using client = call('80', ['http'])
    await client.waitForOutput(/-> -R/)
    source.remove('cr_1')
    assert.equal(await client.ended, 1)
    assert.match(client.stderr, /credential was deleted/)
  })

  test('opens tunnels for the holder of a certificate until its authority is deleted', async () => {
    const { authority, options } = await certify(publicKey)
    source.put('ssh_certificate_authority', 'sshca_1', { public_key: authority.publicKey })
    await using client = call('cert:80', ['http'], { options })
    await client.waitForOutput(/-> -R/)
    assert.equal([...directory.sessions.values()][0]?.credentialId, 'sshca_1')
    source.remove('sshca_1')
    assert.equal(await client.ended, 1)
  })

  test('is rejected where the restriction on agents denies it', async () => {
    source.put('ssh_credential', 'cr_1', { public_key: publicKey, acl: [], owner_id: 'usr_1' })
    const restriction = source.restrict('agent', true, '10.0.0.0/8')
    await using client = call('80', ['http'], { options: ['LogLevel=INFO'] })
    assert.equal(await client.ended, 255)
    assert.match(client.stderr, /Agents may not connect from 127\.0\.0\.1/)
    source.remove(restriction)
    await using again = call('80', ['http'])
    await again.waitForOutput(/-> -R/)
  })
})

suite('ssh with what another process has just changed', () => {
  const body = () => ({ public_key: publicKey, acl: [], owner_id: 'usr_1' })

  afterEach(async () => {
    source.elsewhere = undefined
    source.user('usr_1')
    for (const id of ['cr_1', 'sshca_1']) source.remove(id)
    await until(() => directory.sessions.size === 0)
  })

  test('signs in with a key that it has created', async () => {
    source.remove('cr_1')
    source.elsewhere = () => source.put('ssh_credential', 'cr_1', body())
    await using client = call('80', ['http'])
    await client.waitForOutput(/-> -R/)
  })

  test('signs in with the key of an owner whom it has activated', async () => {
    source.put('ssh_credential', 'cr_1', body())
    source.user('usr_1', { active: false })
    source.elsewhere = () => source.user('usr_1')
    await using client = call('80', ['http'])
    await client.waitForOutput(/-> -R/)
  })

  test('signs in with a certificate of an authority that it has created', async () => {
    const { authority, options } = await certify(publicKey)
    source.elsewhere = () =>
      source.put('ssh_certificate_authority', 'sshca_1', { public_key: authority.publicKey })
    await using client = call('80', ['http'], { options })
    await client.waitForOutput(/-> -R/)
    assert.equal([...directory.sessions.values()][0]?.credentialId, 'sshca_1')
  })

  test('reads once for a client with many keys', async () => {
    const others = ['first', 'second', 'third']
    for (const name of others) await newSshKey(folder, name, 'ed25519')
    source.put('ssh_credential', 'cr_1', body())
    const earlier = source.refreshes
    await using client = call('80', ['http'], {
      key: folder.file('first'),
      options: [...others.slice(1), 'id'].map(name => `IdentityFile=${folder.file(name)}`),
    })
    await client.waitForOutput(/-> -R/)
    assert.ok(source.refreshes - earlier <= 1, `${source.refreshes - earlier} reads`)
  })

  test('shares the read among all clients that are unknown at that time', async () => {
    const penalties = { refused: 0, late: 0, unused: 0, threshold: 1, most: 1, sources: 8 }
    const startups = { start: 1000, rate: 0, full: 1000, perSource: 1000 }
    await using flooded = await TestListener.start({ penalties, startups }, deps)
    const privateKey = opensshHostKey(newHostKey()).reveal()
    const earlier = source.refreshes
    const begun = performance.now()
    const clients = Array.from({ length: 40 }, () => {
      const client = new ssh2.Client()
      const refused = once(client, 'error')
      // A reset may follow.
      client.on('error', () => undefined)
      client.connect({ host: '127.0.0.1', port: flooded.port, username: 'ann', privateKey })
      return refused
    })
    for (const [error] of await Promise.all(clients))
      assert.match(String(error), /authentication methods failed/)
    const reads = source.refreshes - earlier
    // One for each 100 ms that it took, and one at either end.
    assert.ok(reads > 0 && reads <= (performance.now() - begun) / 100 + 2, `${reads} reads`)
  })

  test('counts a client that leaves during the read as a refused one', async () => {
    const penalties = { refused: 10_000, late: 0, unused: 0, threshold: 10_000, most: 60_000, sources: 8 }
    const [asked, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const refresh = (): Promise<void> => {
      asked.resolve()
      return read.promise
    }
    await using guarded = await TestListener.start(
      { penalties },
      { ...deps, ring: { ...deps.ring, refresh } },
    )
    await using client = call('80', ['http'], { port: guarded.port })
    await asked.promise
    client.child.kill('SIGKILL')
    await client.ended
    await until(() => guarded.listener.connections === 0)
    read.resolve()
    await using again = call('80', ['http'], { port: guarded.port, options: ['LogLevel=INFO'] })
    assert.equal(await again.ended, 255)
    assert.doesNotMatch(again.stderr, /Permission denied/)
  })
})
