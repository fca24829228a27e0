import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { createLog } from '#base/log.ts'
import { newId, newToken } from '#base/ids.ts'
import { run } from '../cli/run.ts'
import { assertNoSecretInResponse, secretFields } from './response-secrets.ts'
import {
  assertNoSecretInPage,
  registerKey,
  registerSecret,
  findSecret,
  secretText,
  RecordedOutput,
} from './secrets.ts'
import { Caller, runAdit, startServer } from './server.ts'

const leaked = /contains a secret: .*\[secret\]/

/** An API that responds as configured. */
async function api(answer: RequestListener): Promise<{ readonly caller: Caller } & AsyncDisposable> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    caller: new Caller(`http://127.0.0.1:${port}`, 'key'),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

suite('a secret is found', () => {
  const secret = secretText('of a test')
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const cookie = registerSecret(randomBytes(24).toString('base64url'))
  for (const [name, text] of Object.entries({
    'as it is': `Bearer ${secret}`,
    'in hex': Buffer.from(secret).toString('hex'),
    'in the address of a page': `https://a.test/?${new URLSearchParams({ secret }).toString()}`,
    'in base64': Buffer.from(secret).toString('base64'),
    'in base64, behind a name': Buffer.from(`a:${secret}`).toString('base64'),
    'in base64, behind a longer name': Buffer.from(`ann:${secret}`).toString('base64url'),
    'as a token': newToken(newId('ak')),
    'as a private key': pem,
    'as a private key in JSON': JSON.stringify({ pem }),
    'as a JSON Web Key': JSON.stringify(privateKey.export({ format: 'jwk' })),
    'as a line of a key that is known': registerKey(pem).split('\n')[2] ?? '',
    'that was generated elsewhere': cookie,
  })) {
    test(name, () => {
      const line = findSecret(`first\nbefore ${text} after\nlast`)
      assert.match(line ?? '', /\[secret\]/)
      assert.ok(!line?.includes(text))
    })
  }

  test('and nothing else is', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const open = publicKey.export({ type: 'spki', format: 'pem' })
    const ids = Array.from({ length: 100 }, () => newId('ak')).join('_')
    for (const text of ['', ids, open, randomBytes(5000).toString('base64'), '-----BEGIN PRIVATE KEY-----'])
      assert.equal(findSecret(text), undefined)
  })
})

suite('a test fails', () => {
  test('when the log of its server contains a secret', () => {
    const log = new RecordedOutput('the log')
    createLog('debug', log).warn({ error: new Error(`wrong: ${secretText('password')}`) }, 'refused')
    assert.throws(() => log.end(), leaked)
  })

  test('when its server keeps a secret in the clear or in an event', async () => {
    const leak = async (): Promise<void> => {
      await using server = await startServer()
      const description = `not a good place: ${secretText('password')}`
      // The answer tells it, too.
      await assert.rejects(server.api.post('/ip_policies', { description }), leaked)
    }
    await assert.rejects(leak, leaked)
  })

  test('when an answer of the API contains a secret, but for those that it may show', async () => {
    const secret = secretText('client')
    const bodies: Readonly<Record<string, object>> = {
      '/oidc': { client_secret: secret, issuer: 'https://id.example.com' },
      '/refused': { msg: `"${secret}" cannot be used` },
      '/destination': { target: { azure_logs_ingestion: { client_secret: secret } } },
      '/keys': { id: 'ak', token: newToken(newId('ak')) },
    }
    await using server = await api((request, response) => {
      response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(bodies[request.url ?? '']))
    })
    const { caller } = server
    assert.equal((await caller.get('/oidc')).body.client_secret, secret)
    assert.equal((await caller.post('/keys')).status, 201)
    for (const path of ['/refused', '/destination', '/keys'])
      await assert.rejects(caller.get(path), leaked, path)
    assert.throws(() => assertNoSecretInResponse('a list', JSON.stringify([bodies['/keys']]), true), leaked)
  })

  test('when a page of the gateway contains a secret', () => {
    const text = `<h1>${secretText('password')}</h1>`
    assert.throws(() => assertNoSecretInPage({ 'adit-error-code': 'ERR_ADIT_3200' }, text), leaked)
    // The page of a service is its own affair.
    assertNoSecretInPage({}, text)
  })

  test('when a command contains a secret', async () => {
    await using server = await api((_, response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error_code: 'ERR_ADIT_215', msg: `no: ${secretText('password')}` }))
    })
    const environment = { ADIT_API_URL: server.caller.url, ADIT_API_KEY: 'key' }
    await assert.rejects(runAdit(['api', 'ip-policies', 'list'], environment), leaked)
  })

  test('when a part that never ends leaks a secret', async () => {
    const file = join(import.meta.dirname, './leaking-part.ts')
    // A run of tests that knows that it is inside another one does nothing.
    const program = ['-u', 'NODE_TEST_CONTEXT', process.execPath, '--test', file]
    const { code, stdout } = await run('/usr/bin/env', program)
    assert.equal(code, 1, stdout)
    assert.match(stdout, /a log contains a secret: .*\[secret\]-given-away/)
  })
})

test('the contract marks the fields that are for secrets', () => {
  const named = (wanted: string) => secretFields.filter(({ name }) => name === wanted)
  assert.ok(named('client_secret').some(({ secrecy }) => secrecy === 'returned'))
  assert.ok(named('client_secret').some(({ secrecy }) => secrecy === 'masked'))
  assert.ok(named('private_key_pem').every(({ secrecy, isGiven }) => secrecy === 'hidden' && isGiven))
})
