import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, suite, test } from 'node:test'
import { World } from '../e2e/edges/world.ts'
import { runCommand } from '../support/command-host.ts'
import { secretText } from '../support/secrets.ts'
import { spawnAdit } from '../support/server.ts'
import { until } from '../support/until.ts'

suite('adit requests', () => {
  let world: World
  let environment: Record<string, string>

  before(async () => {
    world = await World.start()
    environment = { ADIT_API_URL: world.server.api.url, ADIT_DATA_DIR: world.server.dataDir }
    const edge = await world.edge(['a.example.test', 'b.example.test'])
    await world.route(
      edge,
      '/',
      await world.static((request, response) =>
        response.writeHead(request.url === '/unknown' ? 404 : 200).end('fine'),
      ),
    )
    await world.route(edge, '/hooks', await world.static((_, response) => response.end()), {
      webhook_verification: { provider: 'github', secret: secretText('webhook') },
    })
  })
  after(() => world[Symbol.asyncDispose]())

  test('why names the module that rejected a request, and what to do', async () => {
    const { requestId } = await world.ask('a.example.test/hooks', { method: 'POST' })
    const { code, stdout } = await runCommand(['requests', 'why', requestId], environment)
    assert.equal(code, 0)
    assert.match(stdout, new RegExp(`^${requestId}  \\d{4}-\\d\\d-\\d\\dT`))
    assert.match(stdout, /^POST https:\/\/a\.example\.test\/hooks$/m)
    assert.match(stdout, /^403 {2}ERR_ADIT_\d+ {2}[\d.]+ ms$/m)
    assert.match(stdout, /^ {2}module {4}webhook_verification: answered, \d+ µs$/m)
    assert.match(stdout, /^The module Webhook verification responded with 403; the service did not get/m)
    assert.match(stdout, /^This webhook is not signed by the sender that a\.example\.test expects\.$/m)
    assert.match(stdout, /^What to do: Compare the sender and the secret of the endpoint/m)
  })

  test('why reports that the service rejected a request', async () => {
    const { requestId } = await world.ask('a.example.test/unknown')
    const { stdout } = await runCommand(['requests', 'why', requestId], environment)
    assert.match(stdout, /^The service responded with 404\.$/m)
    assert.match(stdout, /^What to do: Compare the request with what the service accepts/m)
  })

  test('why shows the command that starts an endpoint that is offline', async () => {
    const { requestId } = await world.ask('gone.adit.localhost')
    const { stdout } = await runCommand(['requests', 'why', requestId], environment)
    assert.match(stdout, /^What to do: Start the agent.*\n {2}adit http 3000 --name gone\.adit\.localhost$/m)
  })

  test('why names the service of the tunnel, and its scheme', async () => {
    const agent = await world.agent()
    const port = await world.service((_, response) => response.end())
    await agent.listen({ domain: 'secure', forwardTo: `https://localhost:${port}` })
    const { requestId } = await world.ask('secure.adit.localhost')
    const { stdout } = await runCommand(['requests', 'why', requestId], environment)
    assert.match(stdout, new RegExp(`service at localhost:${port} does not answer, or does not use TLS`))
    assert.match(stdout, new RegExp(`^ {2}adit http http://localhost:${port} --name secure\\.`, 'm'))
  })

  test('why reports that a request did not fail', async () => {
    const { requestId } = await world.ask('a.example.test/fine')
    const { stdout } = await runCommand(['requests', 'why', requestId], environment)
    assert.match(stdout, /^ {2}response {2}200, 4 bytes, complete$/m)
    assert.match(stdout, /^It did not fail\.$/m)
  })

  test('show prints what was captured, and replay sends it again', async () => {
    const { id } = await world.make('/captures', { host: 'a.example.test' })
    const ask = () =>
      world.ask('a.example.test/shown?q=1', {
        method: 'POST',
        body: "it's here",
        headers: { authorization: secretText('shown'), 'x-plain': 'yes' },
      })
    const requestId = await until(async () => {
      const { requestId: asked } = await ask()
      const { body } = await world.server.api.get(`/requests/${asked}`)
      return body.captured === true && asked
    })
    const shown = (...options: string[]) =>
      runCommand(['requests', 'show', requestId, ...options], environment)
    assert.match((await shown()).stdout, /^POST \/shown\?q=1\nhost: a\.example\.test\n/)
    const { stdout: curl } = await shown('-o', 'curl')
    assert.match(curl, /^curl 'https:\/\/a\.example\.test\/shown\?q=1' \\\n {2}-X 'POST' \\\n/)
    assert.match(curl, /--data-raw 'it'\\''s here'\n$/)
    const har = JSON.parse((await shown('-o', 'har')).stdout)
    assert.equal(har.log.entries[0].response.content.text, 'fine')
    const again = await runCommand(
      ['requests', 'replay', requestId, '--method', 'PUT', '--header', 'X-Plain:', '--body', 'new'],
      environment,
    )
    assert.equal(again.code, 0)
    assert.match(again.stdout, /^rq_\w+\n\nPUT \/shown\?q=1\n(?:(?!x-plain).)*\n\nnew\n\n200 OK\n/s)
    await world.server.api.delete(`/captures/${id}`)
  })

  test('replay-failed sends the failed ones again, also to another endpoint', async () => {
    const other = await world.edge(['other.example.test'])
    await world.route(other, '/', await world.fixedResponse('elsewhere'))
    const edge = await world.edge(['broken.example.test'])
    const broken = await world.static((_, response) => response.writeHead(500).end())
    await world.route(edge, '/', broken, { capture: true })
    const failedIds = await until(async () => {
      const asked = [await world.ask('broken.example.test/1'), await world.ask('broken.example.test/2')]
      const shown = await Promise.all(
        asked.map(({ requestId }) => world.server.api.get(`/requests/${requestId}`)),
      )
      return shown.every(({ body }) => body.captured) && asked.map(({ requestId }) => requestId)
    })
    const { body } = await world.server.api.get('/endpoints')
    const { id } = body.endpoints.find(({ hostport }: { hostport: string }) => hostport.startsWith('other.'))
    const common = ['requests', 'replay-failed', '--host', 'broken.example.test', '--max', '2']
    const { code, stdout } = await runCommand([...common, '--endpoint', id], environment)
    assert.equal(code, 0)
    const lines = failedIds.map(
      (each, at) => `${each} {2}GET broken\\.example\\.test/${at + 1} {2}500 -> 200 {2}rq_`,
    )
    assert.match(stdout, new RegExp(`^${lines.join('\\w+\n')}\\w+\n$`))
    const nothing = await runCommand(['requests', 'replay-failed', '--path', '/nowhere'], environment)
    assert.equal(nothing.code, 3)
    assert.match(nothing.stderr, /No failed request that passes the filters was captured/)
  })

  test('show explains how to capture a request', async () => {
    const { requestId } = await world.ask('b.example.test/uncaptured')
    const { code, stderr } = await runCommand(['requests', 'show', requestId], environment)
    assert.equal(code, 3)
    assert.match(stderr, /was not captured.*POST \/captures/)
  })

  for (const command of ['why', 'show', 'replay'])
    test(`${command} fails with 3 for a request that is not kept`, async () => {
      const { code, stderr } = await runCommand(['requests', command, `rq_${'0'.repeat(27)}`], environment)
      assert.equal(code, 3)
      assert.match(
        stderr,
        /^adit: The server has no request "rq_0+": the id is wrong, or the request is older/,
      )
    })

  test('tail prints the requests that pass its filters, until it is interrupted', async () => {
    const tail = spawnAdit(['requests', 'tail', '--host', 'b.example.test'], environment)
    let text = ''
    tail.stdout?.setEncoding('utf8').on('data', (more: string) => (text += more))
    // The first requests may come before the stream is open.
    await until(async () => {
      await world.ask('a.example.test/other')
      await world.ask('b.example.test/wanted')
      return text.includes('\n')
    })
    assert.match(
      text,
      /^\d\d:\d\d:\d\d {2}200 {2}GET {3}b\.example\.test\/wanted {2}[\d.]+ ms {2}127\.0\.0\.1$/m,
    )
    assert.doesNotMatch(text, /a\.example\.test/)
    const { requestId } = await world.ask('b.example.test/hooks', { method: 'POST' })
    await until(() => text.includes(requestId))
    assert.match(text, new RegExp(`  ERR_ADIT_3204  webhook_verification  visitor  ${requestId}$`, 'm'))
    const closed = once(tail, 'close')
    tail.kill('SIGINT')
    await closed
    assert.equal(tail.exitCode, 130)
  })

  test('tail names the values that a filter allows', async () => {
    const { code, stderr } = await runCommand(['requests', 'tail', '--status', 'bad'], environment)
    assert.equal(code, 1)
    assert.match(stderr, /"status": "bad" is not allowed\. Allowed: 404 or 5xx\./)
  })
})
