import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { World } from '../world.ts'
import { secretText } from '../../../support/secrets.ts'

const HOST = 'a.example.test'

/** A service that must not be reached, and which counts attempts. */
async function trap(host: string, handle?: RequestListener) {
  let connections = 0
  const server = createServer(handle ?? ((_, response) => response.end('inside')))
  server.on('connection', () => connections++)
  await once(server.listen(0, host), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** This machine and networks behind the gateway, each also in a form that hides it. */
const inside = [
  'localhost',
  '127.0.0.1',
  '127.1',
  '127.0.0.2',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '0.0.0.0',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[64:ff9b::7f00:1]',
  '[fe80::1]',
  '[fd00::1]',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '100.64.0.1',
  '169.254.169.254',
  '224.0.0.1',
  '255.255.255.255',
]

/** Nothing in a page may tell where it was tried. */
function tells(page: string, port: number): boolean {
  // An example, in the advice for operators.
  const text = page.replace('10.0.0.0/8', '')
  return text.includes(String(port)) || inside.some(address => address.length > 4 && text.includes(address))
}

suite('SEC-14 the network of the gateway cannot be reached', () => {
  test('SEC-14 by a static backend', async () => {
    await using world = await World.start({ egress_allow: '' })
    await using site = await trap('127.0.0.1')
    const edge = await world.edge([HOST])
    for (const [at, address] of inside.entries()) {
      const body = { address: `${address}:${site.port}` }
      const { status, body: made } = await world.server.api.post('/backends/static', body)
      // What cannot be an address at all is not taken.
      if (status === 400) continue
      assert.equal(status, 201, address)
      await world.route(edge, `/${at}`, made.id)
      const got = await world.ask(`${HOST}/${at}`, { headers: { accept: 'text/html' } })
      assert.deepEqual([got.status, got.code], [502, 'ERR_ADIT_90160'], address)
      assert.ok(!tells(got.text, site.port), got.text)
    }
    assert.equal(site.connections(), 0)
  })

  test('SEC-14 by the issuer of a sign-in', async () => {
    await using world = await World.start({ egress_allow: '' })
    await using site = await trap('127.0.0.1')
    const edge = await world.edge([HOST])
    const first = {
      issuer: `http://127.0.0.1:${site.port}`,
      client_id: 'adit',
      client_secret: secretText('oidc'),
    }
    const route = await world.route(edge, '/', await world.fixedResponse('in'), { oidc: first })
    const module = `/edges/https/${edge}/routes/${route}/oidc`
    let taken = 0
    for (const address of inside)
      for (const scheme of ['http', 'https']) {
        const issuer = `${scheme}://${address}:${site.port}`
        const given = { issuer, client_id: 'adit', client_secret: secretText('oidc') }
        const { status } = await world.server.api.put(module, given)
        if (status === 400) continue
        assert.equal(status, 200, issuer)
        taken++
        // The change may still be on its way; what was there before answers in the same way.
        const got = await world.ask(HOST, { headers: { accept: 'text/html' } })
        assert.ok(got.status === 502 || got.status === 503, `${issuer}: ${got.status}`)
        assert.equal(got.headers['location'], undefined)
        assert.ok(!tells(got.text, site.port), got.text)
      }
    assert.ok(taken > 10)
    assert.equal(site.connections(), 0)
  })

  test('SEC-14 by a public issuer that redirects to an internal one', async () => {
    await using site = await trap('127.0.0.1')
    const hits: string[] = []
    await using outside = await trap('127.0.0.2', ({ url = '' }, response) => {
      hits.push(url)
      response.writeHead(302, { location: `http://127.0.0.1:${site.port}${url}` }).end()
    })
    await using world = await World.start({ egress_allow: '127.0.0.2/32' })
    const issuer = `http://127.0.0.2:${outside.port}`
    const oidc = { issuer, client_id: 'adit', client_secret: secretText('oidc') }
    await world.route(await world.edge([HOST]), '/', await world.fixedResponse('in'), { oidc })
    const got = await world.ask(HOST, { headers: { accept: 'text/html' } })
    assert.deepEqual([got.status, hits.length > 0], [502, true])
    assert.ok(!tells(got.text, site.port))
    assert.equal(site.connections(), 0)
  })

  test('SEC-14 by the certificate that a webhook names', async () => {
    await using world = await World.start({ egress_allow: '' })
    await using site = await trap('127.0.0.1')
    await world.route(await world.edge([HOST]), '/', await world.fixedResponse('in'), {
      webhook_verification: { provider: 'sns', secret: '' },
    })
    const places = inside.flatMap(address => [
      `https://${address}:${site.port}/SimpleNotificationService-0.pem`,
      `http://${address}:${site.port}/SimpleNotificationService-0.pem`,
      `https://sns.us-east-1.amazonaws.com@${address}:${site.port}/SimpleNotificationService-0.pem`,
      `https://${address}:${site.port}/.amazonaws.com/SimpleNotificationService-0.pem`,
    ])
    for (const SigningCertURL of places) {
      const body = JSON.stringify({
        Type: 'Notification',
        MessageId: '1',
        TopicArn: 'arn:aws:sns:us-east-1:1:t',
        Message: 'x',
        Timestamp: new Date().toISOString(),
        SignatureVersion: '2',
        Signature: 'AAAA',
        SigningCertURL,
      })
      const headers = { accept: 'text/html', 'x-amz-sns-message-type': 'Notification' }
      const got = await world.ask(HOST, { method: 'POST', headers, body })
      assert.equal(got.status, 403, SigningCertURL)
      assert.ok(!tells(got.text, site.port))
    }
    assert.equal(site.connections(), 0)
  })

  test('SEC-14 unless the operator allows it', async () => {
    await using world = await World.start({ egress_allow: '127.0.0.1/32' })
    await using site = await trap('127.0.0.1')
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${site.port}` })
    await world.route(await world.edge([HOST]), '/', backend.id)
    assert.equal((await world.ask(HOST)).text, 'inside')
  })
})
