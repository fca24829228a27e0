import assert from 'node:assert/strict'
import { after, afterEach, before, suite, test } from 'node:test'
import ssh2 from 'ssh2'
import { Problem } from '#base/errors.ts'
import { opensshHostKey } from '#ssh/host-key.ts'
import { newSshAuthority, type SshAuthority } from '#pki/ssh-authority.ts'
import { signSshCertificate, type UserCertificateRequest } from '#pki/ssh-certificate.ts'
import { readSshPublicKey } from '#pki/ssh-key.ts'
import { runOrThrow, newSshKey } from '../support/openssh.ts'
import { ssh, type SshCall, TestListener, Upstream } from './support.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

const HOUR = 3_600_000

let folder: Folder
let listener: TestListener
let upstream: Upstream
let authority: SshAuthority
let stranger: SshAuthority
const lines = new Map<string, string>()

const keys: Record<string, [type: string, bits?: number]> = {
  ed25519: ['ed25519'],
  rsa: ['rsa', 2048],
  nistp256: ['ecdsa', 256],
  nistp384: ['ecdsa', 384],
  nistp521: ['ecdsa', 521],
  unknown: ['ed25519'],
  certified: ['ed25519'],
  other: ['ed25519'],
}

before(async () => {
  folder = new Folder()
  // Refusals are many here, and all come from one address.
  const penalties = { refused: 0, late: 0, unused: 0, threshold: 1, most: 1, sources: 8 }
  listener = await TestListener.start({ penalties })
  upstream = await Upstream.echo()
  for (const [name, [type, bits]] of Object.entries(keys))
    lines.set(name, await newSshKey(folder, name, type, bits))
  authority = await newSshAuthority()
  stranger = await newSshAuthority()
  listener.gateway.trusted = [{ id: 'sshca_1', key: readSshPublicKey(authority.publicKey).blob }]
})

afterEach(async () => {
  await until(() => listener.gateway.sessions.size === 0)
  listener.gateway.keys.clear()
  listener.gateway.barred = undefined
})

after(async () => {
  await listener[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const lineOf = (name: string): string => lines.get(name) ?? assert.fail(name)
const call = (key: string, changes: Partial<SshCall> = {}) =>
  ssh({
    port: listener.port,
    key: folder.file(key),
    flags: ['-R', `80:127.0.0.1:${upstream.port}`],
    command: ['http'],
    ...changes,
  })

async function assertRefused(key: string, changes: Partial<SshCall> = {}): Promise<void> {
  await using client = call(key, changes)
  assert.equal(await client.ended, 255)
  assert.match(client.stderr, /Permission denied \(publickey\)/)
  assert.equal(listener.gateway.sessions.size, 0)
}

suite('keys', () => {
  for (const name of ['ed25519', 'rsa', 'nistp256', 'nistp384', 'nistp521'])
    test(`of type ${name} sign in when they are registered`, async () => {
      const id = listener.gateway.register(lineOf(name))
      await using client = call(name)
      await client.waitForOutput(/-> -R/)
      assert.equal(listener.gateway.onlySession().record.credentialId, id)
    })

  test('that are not registered are refused', () => assertRefused('unknown'))

  test('sign in only with SHA-2', async () => {
    listener.gateway.register(lineOf('rsa'))
    const options = ['PubkeyAcceptedAlgorithms=ssh-rsa']
    await using client = call('rsa', { options })
    assert.equal(await client.ended, 255)
  })

  test('are the only authentication method', async () => {
    listener.gateway.register(lineOf('ed25519'))
    await using client = call('ed25519', {
      options: ['PreferredAuthentications=password,keyboard-interactive'],
    })
    assert.equal(await client.ended, 255)
    assert.match(client.stderr, /Permission denied \(publickey\)/)
  })

  test('are refused from an address that an IP restriction denies, with the reason', async () => {
    listener.gateway.register(lineOf('ed25519'))
    listener.gateway.barred = new Problem('agent_address_refused', { ip: '127.0.0.1' })
    await using client = call('ed25519', { options: ['LogLevel=INFO'] })
    assert.equal(await client.ended, 255)
    assert.match(client.stderr, /Agents may not connect from 127\.0\.0\.1/)
  })
})

/** A client's keys of which each offers one and signs with another, or not at all. */
class CrookedAgent extends ssh2.BaseAgent<Buffer> {
  readonly #pairs: readonly { readonly offer: string; readonly signer: string | undefined }[]
  offers = 0

  constructor(...pairs: readonly { offer: string; signer: string | undefined }[]) {
    super()
    this.#pairs = pairs
  }

  override getIdentities(done: (error: Error | undefined, keys?: Buffer[]) => void): void {
    done(
      undefined,
      this.#pairs.map(({ offer }) => readSshPublicKey(lineOf(offer)).blob),
    )
  }

  override sign(key: Buffer, data: Buffer, options: unknown, done?: unknown): void {
    this.offers++
    const tell = (typeof options === 'function' ? options : done) as (
      error?: Error,
      signature?: Buffer,
    ) => void
    const pair = this.#pairs.find(({ offer }) => readSshPublicKey(lineOf(offer)).blob.equals(blobOf(key)))
    if (pair?.signer === undefined) tell(new Error('this agent does not sign'))
    else void folder.read(pair.signer).then(text => tell(undefined, signWith(text, data)))
  }
}

const blobOf = (key: Buffer | ssh2.ParsedKey): Buffer => (Buffer.isBuffer(key) ? key : key.getPublicSSH())

function signWith(text: string, data: Buffer): Buffer {
  const parsed = ssh2.utils.parseKey(text)
  if (parsed instanceof Error) throw parsed
  return parsed.sign(data)
}

/** Signs in with an agent; resolves to the client, or to undefined when it was refused. */
function enter(agent: ssh2.BaseAgent<Buffer>): Promise<ssh2.Client | undefined> {
  const client = new ssh2.Client()
  const { promise, resolve } = Promise.withResolvers<ssh2.Client | undefined>()
  // A key that is not signed with is an error too, after which the client goes on to the next.
  client.on('error', () => undefined)
  client.once('ready', () => resolve(client))
  client.once('close', () => resolve(undefined))
  const authHandler = [{ type: 'agent', username: 'ann', agent } as ssh2.AnyAuthMethod]
  client.connect({ host: '127.0.0.1', port: listener.port, username: 'ann', authHandler })
  return promise
}

suite('a client', () => {
  test('is not authenticated by offering a key', async () => {
    listener.gateway.register(lineOf('ed25519'))
    const agent = new CrookedAgent({ offer: 'ed25519', signer: undefined })
    assert.equal(await enter(agent), undefined)
    assert.equal(agent.offers, 1, 'the key itself would have done')
  })

  test('is refused when another key has signed', async () => {
    listener.gateway.register(lineOf('ed25519'))
    listener.gateway.register(lineOf('other'))
    const agent = new CrookedAgent({ offer: 'ed25519', signer: 'other' })
    assert.equal(await enter(agent), undefined)
    assert.equal(agent.offers, 1)
  })

  test('is the owner of the key that has signed, not of one offered before', async () => {
    listener.gateway.register(lineOf('ed25519'))
    const id = listener.gateway.register(lineOf('other'))
    const agent = new CrookedAgent(
      { offer: 'ed25519', signer: undefined },
      { offer: 'other', signer: 'other' },
    )
    const client = (await enter(agent)) ?? assert.fail('refused')
    client.forwardIn('localhost', 80, () => undefined)
    await until(() => listener.gateway.sessions.size > 0)
    assert.equal(listener.gateway.onlySession().record.credentialId, id)
    client.end()
  })
})

/** Signs a certificate with which ann may sign in for an hour, unless changed, and puts it beside its key. */
async function certify(
  changes: Partial<UserCertificateRequest> = {},
  by = authority,
): Promise<Partial<SshCall>> {
  const request: UserCertificateRequest = {
    type: 'user',
    publicKey: lineOf('certified'),
    keyId: 'sucrt_1',
    principals: ['ann', 'bob'],
    criticalOptions: {},
    extensions: { 'permit-port-forwarding': '' },
    validAfter: new Date(Date.now() - HOUR),
    validUntil: new Date(Date.now() + HOUR),
    ...changes,
  }
  return shown(await folder.write('shown-cert.pub', await signSshCertificate(request, by.privateKeyPem)))
}

const shown = (file: string): Partial<SshCall> => ({ options: [`CertificateFile=${file}`] })

suite('certificates', () => {
  for (const type of ['ed25519', 'rsa', 'nistp384'])
    test(`for a key of type ${type} sign in, as their authority`, async () => {
      const changes = await certify({ publicKey: lineOf(type) })
      await using client = call(type, changes)
      await client.waitForOutput(/-> -R/)
      assert.equal(listener.gateway.onlySession().record.credentialId, 'sshca_1')
    })

  test('for a key that is a credential too sign in as that', async () => {
    const id = listener.gateway.register(lineOf('certified'))
    await using client = call('certified', {
      ...(await certify()),
      options: [...((await certify()).options ?? []), 'IdentitiesOnly=yes'],
    })
    await client.waitForOutput(/-> -R/)
    assert.equal(listener.gateway.onlySession().record.credentialId, id)
  })

  test('sign in from an address they name', async () => {
    await using client = call(
      'certified',
      await certify({ criticalOptions: { 'source-address': '127.0.0.0/8' } }),
    )
    await client.waitForOutput(/-> -R/)
  })

  test('without permission to forward open no tunnel, with the reason', async () => {
    await using client = call('certified', await certify({ extensions: { 'permit-pty': '' } }))
    assert.equal(await client.ended, 1)
    assert.match(client.stderr, /needs the extension permit-port-forwarding/)
    assert.equal(listener.gateway.sessions.size, 0)
  })

  const past = { validAfter: new Date(Date.now() - 2 * HOUR), validUntil: new Date(Date.now() - HOUR) }
  const future = { validAfter: new Date(Date.now() + HOUR), validUntil: new Date(Date.now() + 2 * HOUR) }
  const refusals: Record<string, Partial<UserCertificateRequest>> = {
    'that have expired': past,
    'that are not yet valid': future,
    'for another user': { principals: ['anna', 'an', 'Ann'] },
    'without principals': { principals: [] },
    'for another address': { criticalOptions: { 'source-address': '10.0.0.0/8' } },
    'that force a command': { criticalOptions: { 'force-command': 'http' } },
  }
  for (const [name, changes] of Object.entries(refusals))
    test(`${name} are refused`, async () => assertRefused('certified', await certify(changes)))

  test('of an authority that is not registered are refused', async () =>
    assertRefused('certified', await certify({}, stranger)))

  test('with an unknown critical option are refused', async () => {
    const ca = await folder.write('ca', opensshKey(authority))
    const sign = [
      '-q',
      '-s',
      ca,
      '-I',
      'id',
      '-n',
      'ann',
      '-O',
      'critical:verify-required',
      folder.file('certified.pub'),
    ]
    await runOrThrow('ssh-keygen', ...sign)
    await assertRefused('certified', shown(folder.file('certified-cert.pub')))
    await runOrThrow('rm', folder.file('certified-cert.pub'))
  })
})

/** ssh-keygen reads PKCS #8 of other keys, but not of Ed25519. */
function opensshKey({ privateKeyPem }: SshAuthority): string {
  return opensshHostKey(privateKeyPem).reveal()
}
