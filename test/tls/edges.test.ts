import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:tls'
import { after, before, suite, test } from 'node:test'
import { readAll, signIn, tcp } from '../agent/support.ts'
import { HOST, newAuthority, portOf } from '../gateway/listeners/support.ts'
import { authority, issueCertificate, type TestCertificate } from './test-certificates.ts'
import { VERSIONS } from './support.ts'
import { askKept, askOn, startWorld, type World } from './world.ts'

let world: World
let [root, other, ann, bob, eve]: TestCertificate[] = []
let [rootId, otherId]: string[] = []

before(async () => {
  world = await startWorld()
  ;[root, other] = [await authority(), await authority()]
  ann = await issueCertificate({
    name: 'Ann',
    issuer: root,
    serial: '0a',
    names: [
      { type: 'dns', value: 'ann.example' },
      { type: 'email', value: 'ann@a.example' },
    ],
  })
  bob = await issueCertificate({ name: 'Bob', issuer: await authority({ issuer: other }) })
  eve = await issueCertificate({ name: 'Eve', issuer: await authority() })
  rootId = await world.authority(root)
  otherId = await world.authority(other)
})
after(() => world[Symbol.asyncDispose]())

const mutual = (...ids: (string | undefined)[]) => ({ mutual_tls: { certificate_authority_ids: ids } })

suite('SEC-21: an HTTPS edge with mutual TLS', () => {
  const CLOSED = 'closed.adit.localhost'
  const OTHER = 'other.adit.localhost'
  const OPEN = 'open.adit.localhost'
  before(async () => {
    await world.edge(CLOSED, mutual(rootId, otherId))
    await world.edge(OTHER, mutual(rootId, otherId))
    await world.edge(OPEN)
  })

  test('serves clients with a certificate of any of its CAs, and sends the service their identity', async () => {
    for (const ask of [world.ask.bind(world), world.ask2.bind(world)]) {
      const answer = await ask(CLOSED, { by: ann })
      assert.equal(answer?.status, 200)
      for (const prefix of ['adit', 'ngrok']) {
        assert.equal(answer.body[`${prefix}-mtls-subject-cn`], 'Ann')
        assert.equal(answer.body[`${prefix}-mtls-subject-alt-name-dns`], 'ann.example')
        assert.equal(answer.body[`${prefix}-mtls-email-addresses`], 'ann@a.example')
        assert.equal(answer.body[`${prefix}-mtls-serial-number`], '0a')
      }
      assert.equal((await ask(CLOSED, { by: bob }))?.body['adit-mtls-subject-cn'], 'Bob')
    }
  })

  test('does not forward identity headers of clients', async () => {
    const claims = ['adit-mtls-subject-cn: Eve', 'NGROK-Mtls-Email-Addresses: eve@a.example']
    const answer = await world.ask(CLOSED, { by: bob }, claims)
    assert.equal(answer?.body['adit-mtls-subject-cn'], 'Bob')
    assert.doesNotMatch(JSON.stringify(answer.body), /eve/i)
  })

  test('refuses the handshake of other clients', async () => {
    for (const maxVersion of VERSIONS) {
      assert.equal(await world.ask(CLOSED, { maxVersion }), undefined)
      assert.equal(await world.ask(CLOSED, { by: eve, maxVersion }), undefined)
      assert.equal(await world.ask2(CLOSED, { by: eve, maxVersion }), undefined)
      assert.equal((await world.ask(OPEN, { maxVersion }))?.status, 200)
    }
  })

  test('cannot be reached over a connection to another edge, nor over one without a name', async () => {
    for (const [sni, by, status, code] of [
      [OPEN, undefined, 421, 'ERR_ADIT_90037'],
      [OPEN, ann, 421, 'ERR_ADIT_90037'],
      [OTHER, ann, 421, 'ERR_ADIT_90037'],
      ['nothing.adit.localhost', undefined, 421, 'ERR_ADIT_90037'],
      [null, undefined, 403, 'ERR_ADIT_90170'],
      [null, ann, 403, 'ERR_ADIT_90170'],
    ] as const) {
      const manner = { sni, by }
      for (const answer of [await world.ask(CLOSED, manner), await world.ask2(CLOSED, manner)]) {
        assert.equal(answer?.status, status, `${sni}`)
        assert.equal(answer.body.error_code, code)
      }
    }
  })

  test('is not reached by a later request of a connection with earlier valid requests, either', async () => {
    const socket = await world.connect(OPEN)
    assert.equal((await askKept(socket, OPEN)).status, 200)
    assert.equal((await askKept(socket, CLOSED)).status, 421)
    socket.destroy()
    const session = world.connect2(OPEN)
    assert.equal((await askOn(session, OPEN)).status, 200)
    assert.equal((await askOn(session, CLOSED)).status, 421)
    session.destroy()
  })
})

suite('a change of mutual TLS', () => {
  const path = (id: string) => `/edges/https/${id}/mutual_tls`
  const put = async (id: string, body: object) =>
    assert.equal((await world.server.api.put(path(id), body)).status, 200)

  test('applies to new and to open connections', async () => {
    const name = 'changing.adit.localhost'
    const id = await world.edge(name, mutual(rootId))
    const socket = await world.connect(name, { by: ann })
    assert.equal((await askKept(socket, name)).status, 200)
    assert.equal(await world.ask(name, { by: bob }), undefined)
    await put(id, { certificate_authority_ids: [otherId] })
    assert.equal(await world.ask(name, { by: ann }), undefined)
    assert.equal((await world.ask(name, { by: bob }))?.status, 200)
    assert.equal((await askKept(socket, name)).status, 403)
    socket.destroy()
    await put(id, { certificate_authority_ids: [otherId], enabled: false })
    assert.equal((await world.ask(name))?.status, 200)
    await put(id, { certificate_authority_ids: [otherId] })
    assert.equal(await world.ask(name), undefined)
    assert.equal((await world.server.api.delete(path(id))).status, 204)
    const answer = await world.ask(name)
    assert.equal(answer?.status, 200)
    assert.equal(answer.body['adit-mtls-subject-cn'], undefined)
  })

  test('rejects requests on open connections without a certificate', async () => {
    const name = 'closing.adit.localhost'
    const id = await world.edge(name)
    const socket = await world.connect(name)
    const session = world.connect2(name)
    assert.equal((await askKept(socket, name)).status, 200)
    assert.equal((await askOn(session, name)).status, 200)
    await put(id, { certificate_authority_ids: [rootId] })
    for (const answer of [await askKept(socket, name), await askOn(session, name)]) {
      assert.equal(answer.status, 403)
      assert.equal(answer.body.error_code, 'ERR_ADIT_90170')
    }
    socket.destroy()
    session.destroy()
  })

  test('that gives the name to another edge does not give it the clients of the old one', async () => {
    const name = 'moving.adit.localhost'
    const id = await world.edge(name, mutual(rootId))
    const socket = await world.connect(name, { by: ann })
    assert.equal((await askKept(socket, name)).status, 200)
    assert.equal((await world.server.api.delete(`/edges/https/${id}`)).status, 204)
    const next = await world.create('/edges/https', { hostports: [`${name}:443`], ...mutual(rootId) })
    const backend = { backend_id: await world.group('web') }
    await world.create(`/edges/https/${next}/routes`, { match: '/', match_type: 'path_prefix', backend })
    assert.equal((await askKept(socket, name)).status, 403)
    assert.equal((await world.ask(name, { by: ann }))?.status, 200)
    socket.destroy()
  })
})

suite('the minimum TLS version', () => {
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const

  test('of an HTTPS edge is as configured, and never below 1.2', async () => {
    for (const [min_version, spoken] of [
      ['1.0', true],
      ['1.2', true],
      ['1.3', false],
    ] as const) {
      const name = `v${min_version.replace('.', '')}.adit.localhost`
      await world.edge(name, { tls_termination: { min_version } })
      assert.equal((await world.ask(name, { maxVersion: 'TLSv1.3' }))?.status, 200)
      assert.equal((await world.ask(name, { maxVersion: 'TLSv1.2' }))?.status, spoken ? 200 : undefined, name)
      assert.equal(await world.ask(name, old), undefined, name)
    }
  })
})

suite('a TLS edge', () => {
  const NAME = 'raw.adit.localhost'

  test('passes TLS through, or terminates it, or requests certificates, as configured', async () => {
    const theirs = await newAuthority()
    const identity = await theirs.issue([NAME])
    const inner = createServer(
      { cert: identity.certificatePem, key: identity.privateKeyPem.reveal() },
      socket => socket.end('inside'),
    )
    await once(inner.listen(0, HOST), 'listening')
    await using plain = await tcp(socket => socket.end('plain'))
    await using agent = await signIn(world.server)
    await agent.listen({ labels: { app: 'inner' }, forwardTo: portOf(inner) })
    await agent.listen({ labels: { app: 'plain' }, forwardTo: plain.port })
    await world.create('/reserved_domains', { domain: NAME })
    const [secured, open] = [await world.group('inner'), await world.group('plain')]
    const hostports = [`${NAME}:443`]
    const id = await world.create('/edges/tls', { hostports, backend: { backend_id: secured } })
    const change = async (body: object) =>
      assert.equal((await world.server.api.patch(`/edges/tls/${id}`, body)).status, 200)
    const got = async (more: object = {}) => {
      try {
        return await readAll(await world.connect(NAME, more))
      } catch {
        return undefined
      }
    }
    assert.equal(await got({ ca: theirs.rootPem }), 'inside')
    assert.equal(await got(), undefined, 'the certificate is not ours')
    await change({ tls_termination: { terminate_at: 'upstream' } })
    assert.equal(await got({ ca: theirs.rootPem }), 'inside')
    await change({ tls_termination: { terminate_at: 'edge' }, backend: { backend_id: open } })
    assert.equal(await got(), 'plain')
    assert.equal(await got({ maxVersion: 'TLSv1.2' }), 'plain')
    await change({ tls_termination: { terminate_at: 'edge', min_version: '1.3' } })
    assert.equal(await got({ maxVersion: 'TLSv1.2' }), undefined)
    await change({ tls_termination: { terminate_at: 'edge' }, ...mutual(rootId) })
    for (const maxVersion of VERSIONS) {
      assert.equal(await got({ maxVersion, by: ann }), 'plain')
      assert.notEqual(await got({ maxVersion, by: eve }), 'plain')
      assert.notEqual(await got({ maxVersion }), 'plain')
    }
    await change({ tls_termination: { terminate_at: 'edge', enabled: false } })
    assert.notEqual(await got({ by: ann }), 'plain', 'no certificate would be required')
    inner.close()
  })
})
