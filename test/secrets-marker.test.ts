import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { connect } from '#agent/index.ts'
import { kinds } from '#contract/kinds/index.ts'
import type { Shape } from '#contract/shape.ts'
import { optionsFor } from './agent/support.ts'
import { World, type Got } from './edges/world.ts'
import { Browser } from './gateway/oauth/browser.ts'
import { issue } from './support/openssl.ts'
import { Folder } from './support/openssh.ts'
import { newFolder, spawnServer, type Answer, type Process } from './support/server.ts'

const made: string[] = []
/** A secret that cannot occur by chance; each is looked for everywhere. */
function marker(name: string): string {
  const value = `MARKER${made.length}x${name.replaceAll(/[^a-z0-9]/gi, '')}xHUSH`
  made.push(value)
  return value
}

/** Everything that a caller, a visitor or an operator got to see. */
const seen: { readonly where: string; readonly text: string }[] = []
const note = (where: string, text: string): void => void seen.push({ where, text })
const noteGot = (where: string, got: Got): Got => {
  note(where, `${JSON.stringify(got.headers)} ${got.text}`)
  return got
}
const noteAnswer = (where: string, answer: Answer): Answer => {
  note(where, JSON.stringify(answer.body ?? ''))
  return answer
}

/** An identity provider that lets everybody in and then fails, telling the world what it was sent. */
async function indiscreetProvider() {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', `http://${request.headers.host}`)
    const own = `http://${request.headers.host}`
    const back = url.searchParams.get('redirect_uri')
    if (url.pathname.includes('openid-configuration')) {
      const at = {
        authorization_endpoint: `${own}/in`,
        token_endpoint: `${own}/token`,
        jwks_uri: `${own}/keys`,
      }
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ issuer: own, ...at }))
    } else if (back !== null) {
      const query = new URLSearchParams({ code: CODE, state: url.searchParams.get('state') ?? '' })
      response.writeHead(302, { location: `${back}?${query.toString()}` }).end()
    } else {
      const body = (await request.toArray()).join('')
      const login = String(request.headers.authorization).split(' ')[1] ?? ''
      asked.push(body + Buffer.from(login, 'base64').toString())
      const told = { error: 'invalid_client', error_description: `${body} ${request.headers.authorization}` }
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(told))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const asked: string[] = []
  return { server, asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const CODE = marker('code of a provider')
const API_KEY = marker('first api key')
const AUTHTOKEN = marker('first authtoken')
const MANAGED = marker('managed application')
const MASTER_KEY = Buffer.from('MARKERxMASTERxKEYxHUSHxxxxxxxxxx')
made.push(MASTER_KEY.toString(), MASTER_KEY.toString('hex'), MASTER_KEY.toString('base64'))

/** Places of events with a secret, one of each kind; nothing listens there. */
const targets = (): Record<string, object> => {
  const creds = () => ({ creds: { aws_access_key_id: 'AKIA', aws_secret_access_key: marker('aws') } })
  const arn = (service: string) => `arn:aws:${service}:us-east-1:123456789012`
  return {
    firehose: { auth: creds(), delivery_stream_arn: `${arn('firehose')}:deliverystream/a` },
    kinesis: { auth: creds(), stream_arn: `${arn('kinesis')}:stream/a` },
    cloudwatch_logs: { auth: creds(), log_group_arn: `${arn('logs')}:log-group:a` },
    datadog: { api_key: marker('datadog'), ddsite: 'datadoghq.com' },
    azure_logs_ingestion: {
      tenant_id: 'tenant',
      client_id: 'client',
      client_secret: marker('azure'),
      logs_ingestion_uri: 'https://logs.example.com',
      data_collection_rule_id: 'dcr-1',
      data_collection_stream_name: 'Custom-Adit',
    },
    webhook: { url: 'http://127.0.0.1:9/hook', secret: marker('webhook destination') },
    otlp: { endpoint: 'http://127.0.0.1:9/v1/logs', headers: { authorization: marker('otlp') } },
  }
}

suite('no secret is told', () => {
  const dataDir = newFolder()
  const accessLog = join(dataDir, 'access.log')
  let program: Process
  let world: World
  let provider: Awaited<ReturnType<typeof indiscreetProvider>>

  before(async () => {
    provider = await indiscreetProvider()
    program = await spawnServer(dataDir, {
      ADIT_LOG_LEVEL: 'debug',
      ADIT_ACCESS_LOG: accessLog,
      ADIT_EGRESS_ALLOW: '127.0.0.0/8',
      ADIT_API_KEY: API_KEY,
      ADIT_AUTHTOKEN: AUTHTOKEN,
      ADIT_MASTER_KEY: MASTER_KEY.toString('hex'),
      ADIT_OAUTH_GITHUB: `client:${MANAGED}`,
      ADIT_OAUTH_GITHUB_URL: provider.url,
    })
    const { api, bound } = program
    world = new World({
      api,
      bound,
      dataDir,
      authtoken: AUTHTOKEN,
      [Symbol.asyncDispose]: async () => void program.child.kill('SIGKILL'),
    })
  })
  after(async () => {
    await world[Symbol.asyncDispose]()
    provider.server.closeAllConnections()
    provider.server.close()
    rmSync(dataDir, { recursive: true })
  })

  test('this test knows of every field that holds one', () => {
    const found = new Set<string>()
    const walk = (shape: Shape): void => {
      for (const [name, field] of Object.entries(shape)) {
        if (field.secret !== undefined && field.create !== 'never') found.add(name)
        if (field.shape) walk(field.shape)
      }
    }
    for (const kind of Object.values(kinds)) walk(kind.shape)
    const known = [
      'api_key',
      'aws_secret_access_key',
      'client_secret',
      'headers',
      'private_key_pem',
      'secret',
    ]
    assert.deepEqual([...found].toSorted(), known)
  })

  test('by the API: in lists, in what is shown once, in refusals', async () => {
    const { api } = program
    for (const [name, target] of Object.entries(targets())) {
      const answer = noteAnswer(name, await api.post('/event_destinations', { target: { [name]: target } }))
      assert.equal(answer.status, 201, JSON.stringify(answer.body))
      const { id } = answer.body
      const types = ['ip_policy_created.v0', 'http_request_complete.v0']
      const sources = types.map(type => ({ type }))
      noteAnswer(
        `subscription of ${name}`,
        await api.post('/event_subscriptions', { destination_ids: [id], sources }),
      )
      noteAnswer(
        `change of ${name}`,
        await api.patch(`/event_destinations/${id}`, { target: { [name]: target } }),
      )
    }
    await using folder = await Folder.make()
    const { certificate, key } = await issue(folder, { name: 'app.example.com' })
    made.push(...key.split('\n').filter(line => line.length > 40))
    noteAnswer(
      'certificate',
      await api.post('/tls_certificates', { certificate_pem: certificate, private_key_pem: key }),
    )
    for (const path of ['/api_keys', '/credentials']) {
      const { body } = await api.post(path)
      assert.ok(body.token.length > 20)
      made.push(body.token)
      noteAnswer(path, await api.get(`${path}/${body.id}`))
    }
    await api.post('/ip_policies', { description: 'makes an event' })
    for (const path of [
      '/event_destinations',
      '/event_subscriptions',
      '/tls_certificates',
      '/api_keys',
      '/credentials',
    ])
      noteAnswer(path, await api.get(path))
  })

  test('by refusals of the API', async () => {
    const { api } = program
    const secret = marker('in a call that is refused')
    const refused = (where: string, answer: Answer): void => {
      assert.ok(answer.status >= 400, where)
      noteAnswer(where, answer)
    }
    refused('unknown key', await api.get('/api_keys', { token: marker('unknown key') }))
    refused('broken JSON', await api.post('/event_destinations', `{"target":{"webhook":{"secret":"${secret}`))
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

  test('to visitors, by modules of an edge that let them in or not', async () => {
    const host = 'secrets.adit.localhost'
    const edge = await world.edge([host])
    const page = await world.saying('let in')
    const client_secret = marker('oidc')
    made.push(Buffer.from(`adit:${client_secret}`).toString('base64'))
    await world.route(edge, '/oidc', page, {
      oidc: { issuer: provider.url, client_id: 'adit', client_secret },
    })
    const secret = marker('webhook')
    await world.route(edge, '/hook', page, { webhook_verification: { provider: 'github', secret } })
    const browser = new Browser(world.server)
    const failed = await browser.open(browser.at(host, '/oidc'))
    note('failing sign-in', failed.body)
    assert.ok(failed.status >= 400, failed.body)
    assert.ok(
      provider.asked.some(each => each.includes(client_secret)),
      'the provider was asked with the secret',
    )

    const sign = (key: string): string => `sha256=${createHmac('sha256', key).update('{}').digest('hex')}`
    const hook = (signature: string): Promise<Got> =>
      world.ask(`${host}/hook`, { method: 'POST', body: '{}', headers: { 'x-hub-signature-256': signature } })
    assert.equal(noteGot('signed', await hook(sign(secret))).status, 200)
    assert.ok(noteGot('wrongly signed', await hook(sign('guess'))).status >= 400)
    assert.ok(noteGot('not signed', await hook('')).status >= 400)
  })

  test('to visitors, by what agents bring along', async () => {
    const agent = await world.agent()
    const port = await world.service((_, response) => response.end('let in'))
    const password = marker('password')
    made.push(Buffer.from(`ann:${password}`).toString('base64'))
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
    assert.equal(noteGot('right password', await ask(`ann:${password}`)).status, 200)
    assert.equal(noteGot('wrong password', await ask(`ann:${marker('guessed')}`)).status, 401)
    const browser = new Browser(world.server)
    const failed = await browser.open(browser.at('oauth.adit.localhost'))
    note('failing managed sign-in', failed.body)
    assert.ok(
      provider.asked.some(each => each.includes(MANAGED)),
      'the provider was asked with the secret',
    )
    const query = `/?token=${marker('query')}`
    const cookie = { cookie: `session=${marker('cookie')}`, 'x-api-key': marker('header') }
    await world.ask(`basic.adit.localhost${query}`, { headers: { ...headers(`ann:${password}`), ...cookie } })
    await assert.rejects(
      connect({ ...optionsFor(world.server), authtoken: marker('unknown authtoken') }),
      (error: Error) => {
        note('refusal of an agent', error.message)
        return true
      },
    )
    await agent.close()
  })

  test('anywhere: in the log, the access log, the metrics, the events, the database', async () => {
    const { api } = program
    note('metrics', await (await fetch(`${api.url}/metrics`)).text())
    noteAnswer('requests', await api.get('/requests'))
    noteAnswer('audit events', await api.get('/audit_events'))
    assert.equal(await program.end('SIGTERM'), 0)
    // The first start shows the first key once, on standard output, to whoever started it.
    note('output', program.output().replace(/^ +API key +\S+$/m, ''))
    note('access log', readFileSync(accessLog, 'utf8'))
    const keys = new Set(['api-key', 'authtoken', 'access.log'])
    const files = readdirSync(dataDir, { withFileTypes: true }).filter(
      each => each.isFile() && !keys.has(each.name),
    )
    for (const { name } of files) note(name, readFileSync(join(dataDir, name), 'latin1'))

    assert.ok(program.output().includes('"level"'), 'there is a log')
    assert.ok(seen.some(({ where, text }) => where === 'access log' && text.includes('basic.adit.localhost')))
    assert.ok(made.length > 25)
    for (const { where, text } of seen)
      for (const secret of made) assert.ok(!text.includes(secret), `${secret} is in "${where}"`)
  })
})
