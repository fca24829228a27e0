import assert from 'node:assert/strict'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect } from 'node:tls'
import { made } from '../support/each-store.ts'
import { startServer, type Answer, type TestServer } from '../support/server.ts'
import { Pebble, freePorts } from './pebble.ts'

const at = (port: number | undefined): string => `127.0.0.1:${port}`

const policy = { authority: 'letsencrypt', private_key_type: 'ecdsa' }
const reserve = (server: TestServer, domain: string): Promise<Answer['body']> =>
  made(server.api, '/reserved_domains', { domain, certificate_management_policy: policy })

/** The domain as soon as it has a certificate. */
async function issued(server: TestServer, id: string): Promise<Answer['body']> {
  for (;;) {
    const { body } = await server.api.get(`/reserved_domains/${id}`)
    if (body.certificate !== null) return body
    await pause(100)
  }
}

/** Who signed what a visitor of this name gets to see. */
async function issuerFor(server: TestServer, servername: string): Promise<string> {
  const socket = connect({ port: server.bound.https?.port ?? 0, servername, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { issuer } = socket.getPeerCertificate()
  socket.destroy()
  return String(issuer.CN)
}

suite('the whole program', () => {
  test('gets a certificate by http-01, answered by two processes, and serves it at once', async () => {
    const [http = 0] = await freePorts(1)
    await using pebble = await Pebble.start({ httpPort: http })
    await using server = await startServer({
      http_addr: at(http),
      workers: '2',
      domain: 'base.test',
      acme_directory: pebble.directory,
      acme_ca_file: pebble.rootFile,
      acme_dns: pebble.dns,
      egress_allow: '127.0.0.0/8',
    })
    const { id, cname_target: target } = await reserve(server, 'app.example.com')
    await pebble.tell('add-a', { host: target, addresses: ['127.0.0.1'] })
    await pebble.tell('set-cname', { host: 'app.example.com', target })
    // It may have looked before the record was there: setting something is no reason to look again, but a new name is.
    const second = await reserve(server, 'www.example.com')
    await pebble.tell('set-cname', { host: 'www.example.com', target: second.cname_target })
    assert.match(String((await server.api.get(`/reserved_domains/${id}`)).body.id), /^rd_/)
  })
})
