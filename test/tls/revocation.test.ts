import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { TLSSocket } from 'node:tls'
import { after, before, suite, test } from 'node:test'
import { signIn, tcp, web } from '../agent/support.ts'
import { TestAgent, type Gateway } from '../gateway/agents/support.ts'
import { authority, issueCertificate, type TestCertificate } from './test-certificates.ts'
import { VERSIONS } from './support.ts'
import { type Answer, askKept, askOn, startWorld, type World } from './world.ts'

let world: World
let [removed, kept, ann, bob]: TestCertificate[] = []
let [removedId, keptId]: string[] = []

before(async () => {
  world = await startWorld()
  ;[removed, kept] = [await authority(), await authority()]
  // One below the authority itself, one below an authority between.
  ann = await issueCertificate({ name: 'Ann', issuer: await authority({ issuer: removed }) })
  bob = await issueCertificate({ name: 'Bob', issuer: await authority({ issuer: kept }) })
  removedId = await world.authority(removed)
  keptId = await world.authority(kept)
})
after(() => world[Symbol.asyncDispose]())

const mutual = (...ids: (string | undefined)[]) => ({ mutual_tls: { certificate_authority_ids: ids } })

interface Kept extends Disposable {
  ask(): Promise<Answer>
}

/** A connection with repeated requests. */
const protocols: Record<
  string,
  (host: string, by: TestCertificate | undefined, more: object) => Promise<Kept>
> = {
  async 'HTTP/1.1'(host, by, more) {
    const socket = await world.connect(host, { by, ...more })
    return { ask: () => askKept(socket, host), [Symbol.dispose]: () => socket.destroy() }
  },
  async 'HTTP/2'(host, by, more) {
    const session = world.connect2(host, { by, ...more })
    return { ask: () => askOn(session, host), [Symbol.dispose]: () => session.destroy() }
  },
}

suite('an authority that is removed from an HTTPS edge', () => {
  for (const [protocol, connect] of Object.entries(protocols))
    for (const maxVersion of VERSIONS)
      test(`is no longer accepted on open connections (${protocol}, ${maxVersion})`, async () => {
        const name = `${protocol}-${maxVersion}.adit.localhost`.toLowerCase().replaceAll(/[/v]|\.(?=\d)/g, '')
        const id = await world.edge(name, mutual(removedId, keptId))
        using anns = await connect(name, ann, { maxVersion })
        using bobs = await connect(name, bob, { maxVersion })
        for (const one of [anns, bobs]) assert.equal((await one.ask()).status, 200)
        const path = `/edges/https/${id}/mutual_tls`
        const change = await world.server.api.put(path, { certificate_authority_ids: [keptId] })
        assert.equal(change.status, 200)
        const answer = await anns.ask()
        assert.equal(answer.status, 403)
        assert.equal(answer.body.error_code, 'ERR_ADIT_90170')
        assert.equal((await bobs.ask()).body['adit-mtls-subject-cn'], 'Bob')
      })

  test('is no longer accepted on resumed connections', async () => {
    const name = 'resumed.adit.localhost'
    const id = await world.edge(name, mutual(removedId, keptId))
    for (const maxVersion of VERSIONS) {
      const path = `/edges/https/${id}/mutual_tls`
      await world.server.api.put(path, { certificate_authority_ids: [removedId, keptId] })
      const first = await world.connect(name, { by: ann, maxVersion })
      // Of TLS 1.3 a session comes behind the handshake, of 1.2 within it.
      const ticketed = maxVersion === 'TLSv1.3' ? once(first, 'session') : [first.getSession()]
      assert.equal((await askKept(first, name)).status, 200)
      const [session] = (await ticketed) as [Buffer]
      first.destroy()
      const socket = await world.connect(name, { by: ann, maxVersion, session })
      assert.equal(socket.isSessionReused(), true)
      assert.equal((await askKept(socket, name)).status, 200)
      await world.server.api.put(path, { certificate_authority_ids: [keptId] })
      assert.equal((await askKept(socket, name)).status, 403)
      socket.destroy()
    }
  })

  test('aborts the requests with its certificates, and nothing else', async () => {
    const name = 'running.adit.localhost'
    await using endless = await web((_, response) => {
      response.flushHeaders()
      response.write('begun')
    })
    await using agent = await signIn(world.server)
    await agent.listen({ labels: { app: 'endless' }, forwardTo: endless.port })
    await world.create('/reserved_domains', { domain: name })
    const id = await world.create('/edges/https', {
      hostports: [`${name}:443`],
      ...mutual(removedId, keptId),
    })
    const backend = { backend_id: await world.group('endless') }
    await world.create(`/edges/https/${id}/routes`, { match: '/', match_type: 'path_prefix', backend })
    const [anns, bobs] = [await begun(name, ann), await begun(name, bob)]
    const session = world.connect2(name, { by: ann })
    const stream = session.request({ ':authority': name, ':path': '/' })
    stream.on('error', () => undefined)
    await once(stream, 'data')
    await world.server.api.put(`/edges/https/${id}/mutual_tls`, { certificate_authority_ids: [keptId] })
    await Promise.all([closed(anns), new Promise(resolve => stream.once('close', resolve))])
    assert.equal(bobs.destroyed, false)
    bobs.destroy()
    session.destroy()
  })
})

/** A connection whose answer has begun and does not end. */
async function begun(name: string, by: TestCertificate | undefined): Promise<TLSSocket> {
  const socket = await world.connect(name, { by })
  socket.on('error', () => undefined)
  socket.write(`GET / HTTP/1.1\r\nHost: ${name}\r\n\r\n`)
  await once(socket, 'data')
  return socket
}

const closed = (socket: TLSSocket): Promise<unknown> => new Promise(resolve => socket.once('close', resolve))

suite('an authority that is removed from a TLS edge', () => {
  test('ends the open streams that were accepted with it', async () => {
    const name = 'stream.adit.localhost'
    await using service = await tcp(socket => socket.pipe(socket))
    await using agent = await signIn(world.server)
    await agent.listen({ labels: { app: 'echo' }, forwardTo: service.port })
    await world.create('/reserved_domains', { domain: name })
    const id = await world.create('/edges/tls', {
      hostports: [`${name}:443`],
      backend: { backend_id: await world.group('echo') },
      tls_termination: { terminate_at: 'edge' },
      ...mutual(removedId, keptId),
    })
    const [anns, bobs] = [await echoing(name, ann), await echoing(name, bob)]
    await world.server.api.put(`/edges/tls/${id}/mutual_tls`, { certificate_authority_ids: [keptId] })
    await closed(anns)
    bobs.write('again')
    assert.equal(String(await once(bobs, 'data')), 'again')
    bobs.destroy()
  })

  test('closes streams without a certificate, once one is required', async () => {
    const name = 'opened.adit.localhost'
    await using service = await tcp(socket => socket.pipe(socket))
    await using agent = await signIn(world.server)
    await agent.listen({ labels: { app: 'echo2' }, forwardTo: service.port })
    await world.create('/reserved_domains', { domain: name })
    const id = await world.create('/edges/tls', {
      hostports: [`${name}:443`],
      backend: { backend_id: await world.group('echo2') },
      tls_termination: { terminate_at: 'edge' },
    })
    const socket = await echoing(name, undefined)
    await world.server.api.put(`/edges/tls/${id}/mutual_tls`, { certificate_authority_ids: [keptId] })
    await closed(socket)
  })
})

async function echoing(name: string, by: TestCertificate | undefined): Promise<TLSSocket> {
  const socket = await world.connect(name, { by })
  socket.on('error', () => undefined)
  socket.write('hello')
  assert.equal(String(await once(socket, 'data')), 'hello')
  return socket
}

suite('an authority that an agent no longer names', () => {
  test('is not accepted on open connections to its next tunnel', async () => {
    const name = 'rebound.adit.localhost'
    const gateway = { port: world.server.bound.agent?.port, rootPem: world.ca } as Gateway
    const agent = await TestAgent.signIn(gateway, world.server.authtoken)
    agent.onProxied = stream =>
      stream.attach({
        data: () => void stream.write(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')),
        end: () => stream.end(),
        closed: () => undefined,
      })
    const bind = async (by: TestCertificate | undefined): Promise<string> => {
      const mutual_tls_ca = Buffer.from(by?.pem ?? '').toString('base64')
      const { Id, Error: refusal } = await agent.bind('https', {
        Hostname: name,
        MutualTLSCA: { mutual_tls_ca },
      })
      assert.equal(refusal, '')
      return Id
    }
    const id = await bind(removed)
    const socket = await world.connect(name, { by: ann })
    assert.equal((await askKept(socket, name)).status, 200)
    await agent.unbind(id)
    await bind(kept)
    assert.equal((await askKept(socket, name)).status, 403)
    socket.destroy()
    agent.drop()
  })
})
