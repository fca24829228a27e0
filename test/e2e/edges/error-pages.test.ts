import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { text } from 'node:stream/consumers'
import type { Agent } from '#agent/index.ts'
import { signIn } from '../../agent/support.ts'
import { Folder } from '../../support/folder.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { until } from '../../support/until.ts'

const NAME = 'shop.adit.localhost'
const OWNER = '127.0.0.1'
const PUBLIC = '127.0.0.2'
/** Each request is a connection of its own, so that either process may get one of this many. */
const ROUNDS = 6

suite('error pages of a gateway with two processes', () => {
  const folder = new Folder()
  let server: TestServer
  let agent: Agent & AsyncDisposable

  before(async () => {
    server = await startServer({
      workers: '2',
      page_name: 'Example & Co',
      page_logo: await folder.write('logo.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>'),
      page_accent: '#0b6bcb',
      page_hints: `${OWNER}/32`,
      page_dashboard_url: 'https://dashboard.example.com',
    })
    agent = await signIn(server)
    // Nothing listens on port 1.
    await agent.listen({ proto: 'http', domain: 'shop', forwardTo: 'localhost:1' })
  })
  after(async () => {
    await agent[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  async function visit(host: string, from: string, accept = 'text/html') {
    const { port } = server.bound.http ?? {}
    const request = get({
      host: '127.0.0.1',
      port,
      localAddress: from,
      headers: { host, accept },
      agent: false,
    })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return {
      status: response.statusCode,
      id: String(response.headers['adit-request-id']),
      page: await text(response),
    }
  }

  test('show the id under which the API explains the request', async () => {
    for (const accept of ['text/html', 'application/json', 'text/plain']) {
      const { status, id, page } = await visit('nothing.adit.localhost', PUBLIC, accept)
      assert.equal(status, 404)
      assert.match(id, /^rq_\w{27}$/)
      assert.ok(page.includes(id) && page.includes('ERR_ADIT_3200'), page)
      const found = await until(() => server.api.get(`/requests/${id}`), {
        fits: answer => answer.status === 200,
      })
      assert.equal(found.body.error_code, 'ERR_ADIT_3200')
    }
  })

  test('show the name, the logo and the colour of the operator', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { page } = await visit('nothing.adit.localhost', PUBLIC)
      assert.match(page, /<img src="data:image\/svg\+xml;base64,[\w+/=]+" alt="Example &amp; Co">/)
      assert.match(page, /solid #0b6bcb/)
    }
  })

  test('show the port of the agent and the link to clients of a listed network only', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const own = await visit(NAME, OWNER)
      assert.equal(own.status, 502)
      assert.match(own.page, /The service at localhost:1 does not answer/)
      assert.match(own.page, /adit http OTHER_PORT --name shop\.adit\.localhost/)
      assert.ok(own.page.includes(`href="https://dashboard.example.com/dashboard/requests/${own.id}"`))
      const other = await visit(NAME, PUBLIC)
      assert.equal(other.status, 502)
      assert.ok(other.page.includes(other.id) && other.page.includes('ERR_ADIT_8012'), other.page)
      assert.doesNotMatch(other.page, /localhost:1|adit http|dashboard|If you run this site/)
    }
  })
})
