import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test, type TestContext } from 'node:test'
import { connect } from '#agent/index.ts'
import { type Gateway, TestAgent } from '../../gateway/agents/support.ts'
import { visit } from '../compat/agent-sdk/visits.ts'
import { runOrThrow } from '../../support/openssh.ts'
import { AUTHORITY, type Identity, issue } from '../../support/openssl.ts'
import type { Answer } from '../../support/server.ts'
import { GatewayProcess } from './agent-support.ts'
import * as inputs from './limit-inputs.ts'
import { LoopProbe, SLOW_LIMIT_MS } from './loop.ts'
import { Folder } from '../../support/folder.ts'

const NAME = 'blocks.adit.localhost'
const pemBody = (pem: string): string => pem.replace(/-----[A-Z ]+-----|\s/g, '')
const base64 = (text: string): string => Buffer.from(text).toString('base64')

let probe: LoopProbe
let gateway: GatewayProcess
let folder: Folder
let sockets = ''
let edge = ''
let large: Identity
let curve: Identity
let authority: Identity
let wide: Identity

before(async () => {
  sockets = mkdtempSync(join(tmpdir(), 'adit-loop-'))
  probe = new LoopProbe(sockets)
  gateway = await GatewayProcess.start(probe.environment)
  folder = new Folder()
  large = await issue(folder, { name: 'large', key: 'RSA 4096' })
  curve = await issue(folder, { name: 'curve', key: 'P-521', extensions: AUTHORITY })
  authority = await issue(folder, { name: 'authority', key: 'RSA 4096', extensions: AUTHORITY })
  const names = Array.from({ length: 800 }, (_, at) => `DNS:n${at}.example.com`).join(',')
  wide = await issue(folder, { name: 'wide', extensions: [...AUTHORITY, `subjectAltName=${names}`] })
  await made('/reserved_domains', { domain: NAME })
  edge = await made('/edges/https', { hostports: [`${NAME}:443`] })
})
after(async () => {
  await gateway[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
  rmSync(sockets, { recursive: true })
})

async function made(path: string, body: object): Promise<string> {
  const answer = await gateway.api.post(path, body)
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.id
}

let routes = 0
async function route(modules: object = {}): Promise<{ readonly path: string; readonly id: string }> {
  const backend = { backend_id: await made('/backends/http_response', { body: 'hello' }) }
  const path = `/r${routes++}`
  const body = { match_type: 'path_prefix', match: path, backend, ...modules }
  return { path, id: await made(`/edges/https/${edge}/routes`, body) }
}

const ask = (path: string, options: Parameters<typeof visit>[1] = {}) =>
  visit(`https://${NAME}:${gateway.process.bound.https?.port}${path}`, { ca: gateway.rootPem, ...options })

/** Measures, prints and checks. */
async function blocksFor(context: TestContext, work: (attempt: number) => Promise<unknown>): Promise<void> {
  const longest = await probe.during(work)
  context.diagnostic(`longest block ${longest.toFixed(1)} ms`)
  assert.ok(longest <= SLOW_LIMIT_MS, `the event loop stood still for ${longest.toFixed(1)} ms`)
}

const accepted = ({ status, body }: Answer): void =>
  assert.ok(status < 300, `${status} ${JSON.stringify(body).slice(0, 300)}`)
const answered = ({ status }: { readonly status?: number | undefined }): void =>
  assert.ok((status ?? 500) < 500, String(status))

suite('what tenants and clients send at its limit blocks nothing else', () => {
  for (const [what, deny] of Object.entries(inputs.patterns))
    test(`user-agent patterns: ${what}`, async context => {
      const { path, id } = await route()
      const put = (): Promise<Answer> =>
        gateway.api.put(`/edges/https/${edge}/routes/${id}/user_agent_filter`, { deny })
      await blocksFor(context, async () => accepted(await put()))
      await blocksFor(context, async attempt =>
        answered(await ask(path, { headers: { 'user-agent': inputs.userAgent(attempt) } })),
      )
      await using agent = await connected()
      await blocksFor(context, async () => {
        const endpoint = await agent.listen({ forwardTo: 1, userAgentFilter: { deny } })
        await endpoint.close()
      })
    })

  for (const [what, filter] of Object.entries(inputs.filters))
    test(`event filters: ${what}`, context =>
      blocksFor(context, async () => {
        const sources = [{ type: 'http_request_complete.v0', filter }]
        answered(await gateway.api.post('/event_subscriptions', { sources }))
      }))

  for (const [what, body] of Object.entries(inputs.bodies))
    test(`JSON: ${what}`, context =>
      blocksFor(context, async () => answered(await gateway.api.post('/ip_policies', body))))

  test('header variables', async context => {
    const value = '${.conn.client_ip}'.repeat(16) + 'x'.repeat(3800)
    const { path, id } = await route()
    const url = `/edges/https/${edge}/routes/${id}/response_headers`
    const headers = inputs.headers(value)
    await blocksFor(context, async () => accepted(await gateway.api.put(url, { add: headers })))
    await blocksFor(context, async () => void (await ask(path).catch(() => undefined)))
  })

  test('headers of a request', async context => {
    const { path } = await route()
    await blocksFor(context, async () =>
      answered(await ask(path, { headers: inputs.headers('x'.repeat(290)) })),
    )
  })

  for (const [what, chain] of Object.entries({
    'RSA key': (): object => ({ certificate_pem: large.certificate, private_key_pem: large.key }),
    'long chain': (): object => ({
      certificate_pem: curve.certificate.repeat(Math.floor(65_000 / curve.certificate.length)),
      private_key_pem: curve.key,
    }),
    'many names': (): object => ({ certificate_pem: wide.certificate, private_key_pem: wide.key }),
    'damaged key': (): object => ({
      certificate_pem: large.certificate,
      private_key_pem: large.key.replace(/^M.{7}/m, 'MAAAAAAA'),
    }),
  }))
    test(`certificates: ${what}`, context =>
      blocksFor(context, async () => answered(await gateway.api.post('/tls_certificates', chain()))))

  test('authorities', context =>
    blocksFor(context, async () => {
      for (const { certificate } of [wide, authority])
        answered(await gateway.api.post('/certificate_authorities', { ca_pem: certificate }))
    }))

  test('handshakes with a large key', async context => {
    const name = 'large.example.test'
    const body = { certificate_pem: large.certificate, private_key_pem: large.key }
    const certificate_id = await made('/tls_certificates', body)
    await made('/reserved_domains', { domain: name, certificate_id })
    await made('/edges/https', { hostports: [`${name}:443`] })
    const url = `https://${name}:${gateway.process.bound.https?.port}/`
    await blocksFor(
      context,
      async () => void (await visit(url, { ca: large.certificate }).catch(() => undefined)),
    )
  })

  test('the options of an agent', async context => {
    const { port, rootPem } = { port: gateway.agentPort, rootPem: gateway.rootPem }
    const agent = await TestAgent.signIn({ port, rootPem } as Gateway, gateway.options.authtoken)
    const cas = authority.certificate.repeat(10)
    const chain = curve.certificate.repeat(100)
    for (const [proto, options] of [
      ['https', { MutualTLSCA: { mutual_tls_ca: base64(cas) } }],
      ['https', { MutualTLSCA: { mutual_tls_ca: base64(wide.certificate) } }],
      ['tls', { TLSTermination: { cert: base64(chain), key: base64(curve.key) } }],
      ['tls', { TLSTermination: { cert: base64(large.certificate), key: base64(large.key) } }],
      [
        'https',
        { IPRestriction: { deny_cidrs: Array.from({ length: 1000 }, (_, at) => `10.0.${at % 256}.0/24`) } },
      ],
      ['https', { Unknown: Array(4500).fill(0) }],
    ] as const)
      await blocksFor(context, async () => {
        const { Error: refusal, Id } = await agent.bind(proto, options)
        if (refusal === '') await agent.unbind(Id)
      })
    agent.socket.destroy()
  })

  test('SAML metadata', async context => {
    for (const [what, xml] of Object.entries(inputs.metadata(pemBody(large.certificate)))) {
      const { id } = await route()
      context.diagnostic(what)
      await blocksFor(context, async () =>
        answered(await gateway.api.put(`/edges/https/${edge}/routes/${id}/saml`, { idp_metadata: xml })),
      )
    }
  })

  test('SAML messages', async context => {
    const signing = `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example"><md:IDPSSODescriptor><md:KeyDescriptor><X509Certificate xmlns="http://www.w3.org/2000/09/xmldsig#">${pemBody(large.certificate)}</X509Certificate></md:KeyDescriptor><md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://idp.example/"/></md:IDPSSODescriptor></md:EntityDescriptor>`
    const own = await made('/edges/https', { hostports: [] })
    const match = { match_type: 'path_prefix', match: '/', saml: { idp_metadata: signing } }
    const id = await made(`/edges/https/${own}/routes`, match)
    const url = `https://idp.adit.localhost:${gateway.process.bound.https?.port}/saml/${id}/acs`
    for (const [what, xml] of Object.entries(inputs.messages)) {
      context.diagnostic(what)
      const body = new URLSearchParams({ SAMLResponse: base64(xml) }).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      await blocksFor(context, async () =>
        answered(await visit(url, { ca: gateway.rootPem, method: 'POST', headers, body })),
      )
    }
  })

  for (const [provider, { type, body }] of Object.entries(inputs.webhooks))
    test(`webhooks of ${provider}`, async context => {
      const secret = provider === 'sns' ? {} : { secret: 'not-a-secret' }
      const { path } = await route({ webhook_verification: { provider, ...secret } })
      const signed = {
        'content-type': type,
        'x-hub-signature-256': `sha256=${'0'.repeat(64)}`,
        'x-hubspot-signature': '0'.repeat(64),
        'x-twilio-signature': base64('0'.repeat(20)),
        'gcms-signature': `sign=${base64('0'.repeat(32))}, env=a, t=${Date.now()}`,
      }
      await blocksFor(context, async () =>
        answered(await ask(path, { method: 'POST', headers: signed, body })),
      )
    })

  test('webhooks in parts', async context => {
    const { path } = await route({ webhook_verification: { provider: 'mailgun', secret: 'not-a-secret' } })
    const headers = { 'content-type': 'multipart/form-data; boundary=b' }
    const body = inputs.parts('b')
    await blocksFor(context, async () => answered(await ask(path, { method: 'POST', headers, body })))
  })

  test('SSH keys and certificates', async context => {
    await runOrThrow('openssl', 'pkey', '-in', large.files.key, '-pubout', '-out', folder.file('large.pub'))
    const public_key = (
      await runOrThrow('ssh-keygen', '-i', '-m', 'PKCS8', '-f', folder.file('large.pub'))
    ).trim()
    await blocksFor(context, async () => answered(await gateway.api.post('/ssh_credentials', { public_key })))
    const id = await made('/ssh_certificate_authorities', { private_key_type: 'rsa', key_size: 4096 })
    const principals = Array.from({ length: 256 }, (_, at) => `${at}${'x'.repeat(250)}`)
    const body = { ssh_certificate_authority_id: id, public_key, principals }
    await blocksFor(context, async () => accepted(await gateway.api.post('/ssh_user_certificates', body)))
    await blocksFor(context, async () =>
      accepted(await gateway.api.post('/ssh_certificate_authorities', { private_key_type: 'rsa' })),
    )
  })

  test('lists of rules and names', async context => {
    const acl = Array.from({ length: 100 }, (_, at) => `bind:*.${'x'.repeat(40)}${at}.example.com`)
    await blocksFor(context, async () => accepted(await gateway.api.post('/credentials', { acl })))
    const labels = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`l${at}`, 'x'.repeat(250)]))
    await blocksFor(context, async () =>
      answered(await gateway.api.post('/backends/tunnel_group', { labels })),
    )
    const value = JSON.stringify({ inbound: [{ expressions: Array(100).fill('x'.repeat(600)) }] })
    const { id } = await route()
    await blocksFor(context, async () =>
      answered(await gateway.api.put(`/edges/https/${edge}/routes/${id}/traffic_policy`, { value })),
    )
  })
})

async function connected() {
  const agent = await connect(gateway.options)
  return Object.assign(agent, { [Symbol.asyncDispose]: () => agent.close() })
}
