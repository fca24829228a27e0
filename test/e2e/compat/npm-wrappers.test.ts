import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { visit, webService } from '../../cli/agent-support.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { Home, Wrapper } from './wrappers/wrapper.ts'

let server: TestServer
before(async () => (server = await startServer()))
after(() => server[Symbol.asyncDispose]())

/** The packages, each with how it asks for plain HTTP. */
const packages = {
  'ngrok-4': { bind_tls: false },
  'ngrok-5': { schemes: ['http'] },
  '@expo/ngrok': { bind_tls: false },
} as const

for (const [name, plain] of Object.entries(packages))
  suite(`the npm package ${name}`, () => {
    test('connects, lists, replays, disconnects and ends', async () => {
      let seen = 0
      await using service = await webService((_, response) => response.end(`answer ${++seen}`))
      using home = new Home(server)
      await using wrapper = new Wrapper(name, home)
      assert.deepEqual(await wrapper.call('version'), { result: '3.39.10' })
      assert.deepEqual(await wrapper.call('authtoken', server.authtoken), {})
      assert.match(readFileSync(home.config, 'utf8'), new RegExp(`authtoken: ${server.authtoken}`))
      const { result: url, error } = await wrapper.call('connect', { addr: Number(service.port), ...plain })
      assert.equal(error, undefined)
      assert.match(url, /^http:\/\/\w+\.adit\.localhost/)
      assert.equal((await visit(`${url}/a`)).body, 'answer 1')
      assert.match((await wrapper.call('url')).result, /^http:\/\/127\.0\.0\.1:\d+$/)
      const [tunnel] = (await wrapper.call('tunnels')).result
      assert.equal(tunnel.public_url, url)
      assert.equal((await wrapper.call('detail', tunnel.name)).result.metrics.http.count, 1)
      const [request] = (await wrapper.call('requests')).result
      assert.equal((await wrapper.call('request', request.id)).result.request.uri, '/a')
      assert.deepEqual(await wrapper.call('replay', request.id), { result: true })
      assert.equal(seen, 2)
      assert.equal((await wrapper.call('requests')).result.length, 2)
      assert.deepEqual(await wrapper.call('clear'), { result: true })
      assert.deepEqual((await wrapper.call('requests')).result, [])
      assert.ok((await wrapper.call('statuses')).result.includes('connected'))
      const tcp = await wrapper.call('connect', { proto: 'tcp', addr: 22 })
      assert.match(tcp.result, /^tcp:\/\//)
      assert.deepEqual(await wrapper.call('disconnect', url), { result: true })
      assert.equal((await visit(url)).status, 404)
      assert.equal((await wrapper.call('tunnels')).result.length, 1)
      await wrapper.call('disconnect')
      assert.deepEqual((await wrapper.call('tunnels')).result, [])
      assert.deepEqual(await wrapper.call('kill'), {})
    })

    test('reports what is wrong', async () => {
      using home = new Home(server)
      await using wrapper = new Wrapper(name, home)
      await wrapper.call('authtoken', server.authtoken)
      const wrong = await wrapper.call('connect', { proto: 'http', addr: 'nowhere at all' })
      assert.equal(wrong.error, 'invalid tunnel configuration')
      assert.equal(wrong.body.error_code, 102)
      const refused = await wrapper.call('connect', { proto: 'http', addr: 80, hostname: 'a.example.org' })
      assert.equal(refused.error, 'failed to start tunnel')
      assert.match(refused.body.details.err, /ERR_NGROK_90054/)
    })

    test('is not confused by a debugger of its own program', async () => {
      using home = new Home(server)
      const options = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }
      await using wrapper = new Wrapper(name, home, options)
      await wrapper.call('authtoken', server.authtoken)
      const { result, error } = await wrapper.call('connect', { addr: 80, ...plain })
      assert.equal(error, undefined)
      assert.match(result, /^http:/)
    })
  })
