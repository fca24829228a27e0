import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { inspect } from 'node:util'
import { connect } from '#agent/index.ts'
import { readSettings, variableOf } from '#base/read-settings.ts'
import { agentSettings } from '#cli/agent/agent-settings.ts'
import { tunnelOptions } from '#tunnel/tunnel-options.ts'
import type { Kind } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'
import { optionsFor } from './agent/support.ts'
import { configFile } from './cli/agent-support.ts'
import { World, type EdgeResponse } from './e2e/edges/world.ts'
import { Browser } from './auth/providers/browser.ts'
import { secretFields, withoutLinkToken } from './support/response-secrets.ts'
import { startLeakyProvider } from './support/leaky-provider.ts'
import { issue } from './support/openssl.ts'
import { modules, seededIn, targets } from './support/secret-bodies.ts'
import { secretSettings } from './support/secret-settings.ts'
import { assertNoSecret, registerSecret, findSecret, secretText } from './support/secrets.ts'
import { Seeds } from './support/seeds.ts'
import { runAdit, spawnServer, type Answer, type Process } from './support/server.ts'
import { Folder, newFolder } from './support/folder.ts'

suite('no secret leaks', () => {
  const dataDir = newFolder()
  const accessLog = join(dataDir, 'access.log')
  const seeded = new Set<string>()
  let program: Process
  let world: World
  let provider: Awaited<ReturnType<typeof startLeakyProvider>>

  /** Makes a resource, and notes which fields for secrets it has set. */
  async function seed(kind: Kind, path: string, body: object): Promise<Answer> {
    const answer = await program.api.post(path, body)
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    for (const field of seededIn(kind.shape, body, [kind.name])) seeded.add(field)
    return answer
  }

  before(async () => {
    provider = await startLeakyProvider()
    program = await spawnServer(dataDir, {
      ...secretSettings,
      ADIT_LOG_LEVEL: 'debug',
      ADIT_ACCESS_LOG: accessLog,
      ADIT_EGRESS_ALLOW: '127.0.0.0/8',
      ADIT_OAUTH_GITHUB_URL: provider.url,
      // Nothing listens there, so that the failure is logged.
      ADIT_TRACES_ENDPOINT: 'http://127.0.0.1:9',
      ADIT_TRACES_SAMPLE: '1',
    })
    const { api, bound } = program
    world = new World({
      api,
      bound,
      dataDir,
      authtoken: secretSettings['ADIT_AUTHTOKEN'] ?? '',
      [Symbol.asyncDispose]: async () => void program.child.kill('SIGKILL'),
    })
  })
  after(async () => {
    await world[Symbol.asyncDispose]()
    provider.server.closeAllConnections()
    provider.server.close()
    rmSync(dataDir, { recursive: true })
  })

  test('of settings', () => {
    for (const name of ['api_key', 'authtoken', 'master_key', 'oauth_github', 'oauth_twitch'])
      assert.ok(secretSettings[variableOf(name)] !== undefined, `${name} is taken for a secret`)
    for (const [name, text] of Object.entries(secretSettings)) {
      assert.ok(findSecret(text) !== undefined, name)
      const given = readSettings(new Map(), { [name]: text })
      assertNoSecret(name, `${JSON.stringify(given)} ${inspect(given, { depth: 5, showHidden: true })}`)
    }
  })

  test('by the API: in lists, in what is shown once, in refusals', async () => {
    const { api } = program
    for (const [name, target] of Object.entries(targets())) {
      const body = { target: { [name]: target } }
      const { id } = (await seed(kinds.event_destinations, '/event_destinations', body)).body
      const types = ['ip_policy_created.v0', 'http_request_complete.v0']
      const sources = types.map(type => ({ type }))
      await api.post('/event_subscriptions', { destination_ids: [id], sources })
      assert.equal((await api.patch(`/event_destinations/${id}`, body)).status, 200)
    }
    using folder = new Folder()
    const { certificate, key } = await issue(folder, { name: 'app.example.com' })
    const pair = { certificate_pem: certificate, private_key_pem: key }
    await seed(kinds.tls_certificates, '/tls_certificates', pair)
    await seed(kinds.ssh_certificate_authorities, '/ssh_certificate_authorities', {})
    for (const path of ['/api_keys', '/credentials']) {
      const { body } = await api.post(path)
      assert.ok(findSecret(body.token) !== undefined)
      assert.equal((await api.get(`${path}/${body.id}`)).status, 200)
    }
    await api.post('/ip_policies', { description: 'makes an event' })
  })

  test('by modules that cannot be without one', async () => {
    const { api } = program
    const saml = { saml: await new Seeds(api).module('saml') }
    for (const module of [...modules(), saml]) {
      // An edge has one way to sign in.
      const edge = await world.edge([])
      const body = { match_type: 'path_prefix', match: '/', ...module }
      const route = await seed(kinds.https_edge_routes, `/edges/https/${edge}/routes`, body)
      const [name = ''] = Object.keys(module)
      assert.equal((await api.get(`/edges/https/${edge}/routes/${route.body.id}/${name}`)).status, 200)
      const { webhook_verification: webhook, ...others } = module as Record<string, object>
      const configuration = { type: 'https', ...others, ...(webhook && { webhook_validation: webhook }) }
      await seed(kinds.endpoint_configurations, '/endpoint_configurations', configuration)
    }
  })

  test('of any field: every secret field of the contract was set', () => {
    const fields = secretFields.map(({ path, name }) => [...path, name].join('.'))
    assert.ok(fields.length > 20)
    assert.deepEqual([...seeded].toSorted(), fields.toSorted())
  })

  test('by any list of the API', async () => {
    for (const { path, verbs } of Object.values<Kind>(kinds))
      if (verbs.includes('list') && !path.includes('{'))
        assert.equal((await program.api.get(`${path}?limit=100`)).status, 200, path)
  })

  test('by refusals of the API', async () => {
    const { api } = program
    const secret = secretText('in a call that is refused')
    const refused = (where: string, answer: Answer): void => assert.ok(answer.status >= 400, where)
    refused('unknown key', await api.get('/api_keys', { token: secretText('unknown key') }))
    refused('broken JSON', await api.post('/event_destinations', `{"target":{"webhook":{"secret":"${secret}`))
    // A fault within the secret: Node quotes what is around it.
    const bare = await api.post('/event_destinations', `{"target": {"datadog": {"api_key": ${secret}}}}`)
    refused('broken JSON around it', bare)
    assert.match(bare.body.msg, /Unexpected token/)
    assert.ok(!bare.body.msg.includes(secret.slice(0, 4)), bare.body.msg)
    refused(
      'too long',
      await api.post('/event_destinations', { target: { datadog: { api_key: secret.repeat(500) } } }),
    )
    refused(
      'of a wrong type',
      await api.post('/event_destinations', { target: { datadog: { api_key: [secret] } } }),
    )
    const webhook = { url: 'no address', secret }
    refused('beside what is wrong', await api.post('/event_destinations', { target: { webhook } }))
    const pem = `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----\n`
    refused('no key', await api.post('/tls_certificates', { certificate_pem: pem, private_key_pem: pem }))
  })

  test('to clients, by modules of an edge that allow or deny them', async () => {
    const host = 'secrets.adit.localhost'
    const edge = await world.edge([host])
    const page = await world.fixedResponse('let in')
    const client_secret = secretText('oidc')
    await world.route(edge, '/oidc', page, {
      oidc: { issuer: provider.url, client_id: 'adit', client_secret },
    })
    const secret = secretText('webhook')
    await world.route(edge, '/hook', page, { webhook_verification: { provider: 'github', secret } })
    const browser = new Browser(world.server)
    const failed = await browser.open(browser.at(host, '/oidc'))
    assert.ok(failed.status >= 400, failed.body)
    assert.ok(
      provider.requests.some(each => each.includes(client_secret)),
      'the provider was asked with the secret',
    )

    const sign = (key: string): string => `sha256=${createHmac('sha256', key).update('{}').digest('hex')}`
    const hook = (signature: string): Promise<EdgeResponse> =>
      world.ask(`${host}/hook`, { method: 'POST', body: '{}', headers: { 'x-hub-signature-256': signature } })
    assert.equal((await hook(sign(secret))).status, 200)
    assert.ok((await hook(sign('guess'))).status >= 400)
    assert.ok((await hook('')).status >= 400)
  })

  test('to clients, by options of agents', async () => {
    const agent = await world.agent()
    const port = await world.service((_, response) => response.end('let in'))
    const password = secretText('password')
    const forwardTo = `127.0.0.1:${port}`
    await agent.listen({
      proto: 'https',
      domain: 'basic.adit.localhost',
      forwardTo,
      basicAuth: [`ann:${password}`],
    })
    await agent.listen({
      proto: 'https',
      domain: 'oauth.adit.localhost',
      forwardTo,
      oauth: { provider: 'github', allowEmails: ['ann@example.com'] },
    })
    const headers = (login: string) => ({ authorization: `Basic ${Buffer.from(login).toString('base64')}` })
    const ask = (login: string) => world.ask('basic.adit.localhost/', { headers: headers(login) })
    assert.equal((await ask(`ann:${password}`)).status, 200)
    assert.equal((await ask(`ann:${secretText('guessed')}`)).status, 401)
    const browser = new Browser(world.server)
    await browser.open(browser.at('oauth.adit.localhost'))
    assert.ok(
      provider.requests.some(each => each.includes(secretText('oauth_github'))),
      'the provider was asked with the secret',
    )
    const query = `/?token=${secretText('query')}`
    const cookie = { cookie: `session=${secretText('cookie')}`, 'x-api-key': secretText('header') }
    await world.ask(`basic.adit.localhost${query}`, { headers: { ...headers(`ann:${password}`), ...cookie } })
    await assert.rejects(
      connect({ ...optionsFor(world.server), authtoken: secretText('unknown authtoken') }),
      (error: Error) => {
        assertNoSecret('the refusal of an agent', `${error.stack}`)
        return true
      },
    )
    await agent.close()
  })

  test('by the command line: in what holds, in what is wrong, in what it serves with', async () => {
    const names = (options: object): string[] =>
      Object.entries(options).flatMap(([name, option]) => ('secret' in option ? [name] : []))
    assert.deepEqual(names(agentSettings), ['authtoken', 'proxy_url'])
    const given = {
      basic_auth: `["ann:${secretText('password')}"]`,
      'oauth.client_secret': secretText('oauth'),
      'oidc.client_secret': secretText('oidc'),
      'verify_webhook.secret': secretText('webhook'),
    }
    assert.deepEqual(names(tunnelOptions).toSorted(), Object.keys(given).toSorted())
    const tunnel = [
      'proto: http',
      'addr: 80',
      `basic_auth: ${given.basic_auth}`,
      `oauth: {provider: github, client_id: own, client_secret: ${given['oauth.client_secret']}}`,
      `oidc: {issuer_url: "https://id.example.com", client_id: own, client_secret: ${given['oidc.client_secret']}}`,
      `verify_webhook: {provider: github, secret: ${given['verify_webhook.secret']}}`,
    ]
    const text = `authtoken: ${secretText('authtoken')}\ntunnels:\n  web: {${tunnel.join(', ')}}\n`
    using file = configFile(text)
    using broken = configFile(text.replace('proto: http', 'proto: smtp'))
    const server = { ADIT_SERVER_ADDR: `127.0.0.1:${program.bound.agent?.port}`, ADIT_DATA_DIR: dataDir }
    // Each run is searched; here it is made sure that there is something to find.
    for (const args of [
      ['config', 'show'],
      ['config', 'show', '--json'],
    ]) {
      const shown = await runAdit(args, { ...file.environment, ...server })
      assert.equal(shown.code, 0, shown.stderr)
      assert.equal(shown.stdout.match(/\*{8}/g)?.length, Object.keys(given).length + 1, shown.stdout)
    }
    using proxied = configFile(`proxy_url: http://ann:${secretText('proxy')}@127.0.0.1:1\n${text}`)
    const behind = await runAdit(['config', 'show'], { ...proxied.environment, ...server })
    assert.match(behind.stdout, /^proxy_url: \*{8} /m)
    const unreachable = await runAdit(['diagnose'], { ...proxied.environment, ...server })
    assert.match(unreachable.stdout, /The proxy http:\/\/127\.0\.0\.1:1 cannot be reached/)
    const found = await runAdit(['diagnose'], { ...file.environment, ...server })
    assert.match(found.stdout, /ERR_ADIT_10[57]/)
    const json = `{"datadog": {"api_key": ${secretText('datadog')}}}`
    const call = ['api', 'event-destinations', 'create', '--target', json]
    const refused = await runAdit(call, { ADIT_API_URL: program.api.url, ADIT_API_KEY: program.api.token })
    assert.match(refused.stderr, /--target must be JSON: Unexpected token 'H'\n/)
    assert.notEqual((await runAdit(['config', 'check'], broken.environment)).code, 0)
    assert.notEqual((await runAdit(['start', '--all'], { ...file.environment, ...server })).code, 0)
  })

  test('anywhere: in the log, the access log, the metrics, the events, the database', async () => {
    // A key is not a text, so it is registered by its value, in both of its encodings.
    const master = Buffer.from(secretSettings['ADIT_MASTER_KEY'] ?? '', 'hex')
    for (const encoding of ['hex', 'base64', 'latin1'] as const) registerSecret(master.toString(encoding))
    assert.equal(await program.end('SIGTERM'), 0)
    assert.ok(program.output().includes('"level"'), 'there is a log')
    assert.match(readFileSync(accessLog, 'utf8'), /basic\.adit\.localhost/)
    assertNoSecret('the output', withoutLinkToken(program.output()))
  })
})
