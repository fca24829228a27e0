import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { JsonObject } from '#base/json-fields.ts'
import { readAll, signIn, web } from '../agent/support.ts'
import { TestAgent, type Gateway } from '../gateway/agents/support.ts'
import { authority, issueCertificate, type TestCertificate } from './test-certificates.ts'
import { VERSIONS } from './support.ts'
import { startWorld, type World } from './world.ts'

let world: World
let agent: TestAgent
let [root, ann, eve]: TestCertificate[] = []

before(async () => {
  world = await startWorld()
  root = await authority()
  ann = await issueCertificate({ name: 'Ann', issuer: root })
  eve = await issueCertificate({ name: 'Eve', issuer: await authority() })
  const gateway = { port: world.server.bound.agent?.port, rootPem: world.ca } as Gateway
  agent = await TestAgent.signIn(gateway, world.server.authtoken)
  agent.onProxied = (stream, { Proto }) =>
    stream.attach({
      data(bytes) {
        const body = JSON.stringify({ sent: bytes.toString() })
        const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`
        stream.write(Buffer.from(Proto === 'tls' ? bytes : head + body))
      },
      end: () => stream.end(),
      closed: () => undefined,
    })
})
after(async () => {
  agent.drop()
  await world[Symbol.asyncDispose]()
})

const mutual = (): JsonObject => ({ mutual_tls_ca: Buffer.from(root?.pem ?? '').toString('base64') })

async function bound(proto: string, opts: JsonObject): Promise<string> {
  const { Error: refusal } = await agent.bind(proto, opts)
  return refusal
}

suite('an agent that requests mutual TLS', () => {
  test('gets it for its HTTPS endpoint, with the identity of the client', async () => {
    const name = 'agent.adit.localhost'
    assert.equal(await bound('https', { Hostname: name, MutualTLSCA: mutual() }), '')
    for (const ask of [world.ask.bind(world), world.ask2.bind(world)]) {
      for (const maxVersion of VERSIONS) {
        const answer = await ask(name, { by: ann, maxVersion })
        assert.match(String(answer?.body['sent']), /^Adit-Mtls-Subject-Cn: Ann\r$/im)
        assert.equal(await ask(name, { by: eve, maxVersion }), undefined)
        assert.equal(await ask(name, { maxVersion }), undefined)
      }
      assert.equal((await ask(name, { sni: null, by: ann }))?.status, 403)
    }
  })

  test('gets it for a TLS endpoint that the gateway terminates', async () => {
    const name = 'tls.adit.localhost'
    assert.equal(await bound('tls', { Hostname: name, MutualTLSAtEdge: mutual(), TLSTermination: {} }), '')
    const said = async (by?: TestCertificate): Promise<string> => {
      try {
        const socket = await world.connect(name, { by })
        socket.end('ping')
        return await readAll(socket)
      } catch {
        return 'refused'
      }
    }
    assert.equal(await said(ann), 'ping')
    assert.notEqual(await said(eve), 'ping')
    assert.notEqual(await said(), 'ping')
  })

  test('is refused where it is not supported', async () => {
    const notAuthority = { mutual_tls_ca: Buffer.from(ann?.pem ?? '').toString('base64') }
    for (const [proto, opts] of [
      ['https', { MutualTLSCA: {} }],
      ['https', { MutualTLSCA: notAuthority }],
      ['tls', { MutualTLSAtEdge: mutual() }],
      ['tls', { MutualTLSAtEdge: notAuthority, TLSTermination: {} }],
      ['http', { MutualTLSCA: mutual() }],
      ['tcp', { MutualTLSCA: mutual() }],
    ] as const)
      assert.match(await bound(proto, opts), /MutualTLS/, `${proto} ${JSON.stringify(opts)}`)
  })
})

suite('an endpoint configuration with mutual TLS', () => {
  test('applies to the tunnel of an agent, and to a backend of its own', async () => {
    const name = 'configured.adit.localhost'
    const ids = [await world.authority(root ?? (await authority()))]
    const modules = {
      mutual_tls: { certificate_authority_ids: ids },
      tls_termination: { min_version: '1.3' },
    }
    const config = await world.create('/endpoint_configurations', { type: 'https', ...modules })
    await world.create('/reserved_domains', { domain: name, https_endpoint_configuration_id: config })
    await using service = await web(({ headers }, response) => response.end(JSON.stringify(headers)))
    await using mine = await signIn(world.server)
    const tunnel = await mine.listen({ url: `https://${name}`, forwardTo: service.port })
    const check = async (): Promise<void> => {
      assert.equal((await world.ask(name, { by: ann }))?.body['adit-mtls-subject-cn'], 'Ann')
      assert.equal((await world.ask2(name, { by: ann }))?.body['adit-mtls-subject-cn'], 'Ann')
      assert.equal(await world.ask(name, { by: eve }), undefined)
      assert.equal(await world.ask(name), undefined)
      assert.equal(await world.ask(name, { by: ann, maxVersion: 'TLSv1.2' }), undefined)
      assert.equal((await world.ask(name, { by: ann, sni: null }))?.status, 403)
    }
    await check()
    await tunnel.close()
    const path = `/endpoint_configurations/${config}/backend`
    assert.equal((await world.server.api.put(path, { backend_id: await world.group('web') })).status, 200)
    await check()
  })

  test('cannot be weakened by an agent with authorities of its own', async () => {
    const name = 'double.adit.localhost'
    const ids = [await world.authority(await authority())]
    const modules = { mutual_tls: { certificate_authority_ids: ids } }
    const config = await world.create('/endpoint_configurations', { type: 'https', ...modules })
    await world.create('/reserved_domains', { domain: name, https_endpoint_configuration_id: config })
    await bound('https', { Hostname: name, MutualTLSCA: mutual() })
    assert.notEqual((await world.ask(name, { by: ann }))?.status, 200)
  })
})
