import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Exchange } from '#http/exchange.ts'
import { Modules } from '#gateway/modules/index.ts'
import { oidcModule } from '#gateway/modules/oidc.ts'
import type { JsonObject } from '#base/json-fields.ts'
import { modulePartsFor } from '../../gateway/module-parts.ts'
import { optionsOf, request } from '../../gateway/modules/support.ts'
import { info } from '../../gateway/agents/support.ts'
import { secretText } from '../../support/secrets.ts'
import { HostileProvider } from './hostile-provider.ts'
import { locationOf } from '../sign-in/support.ts'

const visit = (): Exchange => {
  const bare = request('Sec-Fetch-Mode: navigate\r\n')
  return { ...bare, client: { ...bare.client, scheme: 'https' } }
}
const unreached = async () => assert.fail('the service was reached')
const parts = modulePartsFor(info)
const modules = new Modules(parts)
const asAgent = (OIDC: JsonObject) => {
  const agent = optionsOf({ OIDC })
  const [handler] = modules.build({ rows: [], agent }, { id: 'tn_1' }).handlers
  return handler
}

const record = {
  enabled: true,
  options_passthrough: false,
  cookie_prefix: '',
  inactivity_timeout: 0,
  maximum_duration: 0,
  issuer: 'https://provider.test',
  client_id: 'client-1',
  client_secret: secretText('oidc'),
  scopes: [],
}

suite('the oidc module', () => {
  test('built from a record redirects clients to the provider', async () => {
    await using provider = await HostileProvider.start()
    const options = { ...record, issuer: provider.issuer, scopes: ['openid', 'groups'] }
    const row = { id: 'edghtsrt_1', kind: 'https_edge_route', parent: null, version: 1, readable: true }
    const sources = { rows: [{ ...row, body: { oidc: options } }] }
    const [handler] = modules.build(sources, { id: row.id }).handlers
    const reply = await handler?.(visit(), unreached)
    assert.ok(reply)
    const { searchParams } = new URL(locationOf(reply))
    assert.equal(reply.head.status, 302)
    assert.equal(searchParams.get('client_id'), 'client-1')
    assert.equal(searchParams.get('scope'), 'openid email profile groups')
    assert.match(searchParams.get('redirect_uri') ?? '', /^https:\/\/idp\..*\/oauth2\/callback$/)
  })

  test('cannot be built from a record whose issuer is no address', () => {
    const build = () => oidcModule.fromRecord({ ...record, issuer: 'nonsense' }, { id: 'route_1' }, parts)
    assert.throws(build, { code: 'sign_in_unconfigured', status: 503 })
  })

  test('built from agent options redirects clients to the provider', async () => {
    await using provider = await HostileProvider.start()
    const handler = asAgent({
      issuer_url: provider.issuer,
      client_id: 'a-client',
      client_secret: secretText('oidc'),
    })
    const reply = await handler?.(visit(), unreached)
    assert.ok(reply)
    assert.equal(new URL(locationOf(reply)).searchParams.get('client_id'), 'a-client')
  })

  const wrong: Readonly<Record<string, JsonObject>> = {
    'no issuer': { client_id: 'x' },
    'an issuer without TLS': { issuer_url: 'http://provider.test', client_id: 'x' },
    'no client': { issuer_url: 'https://provider.test' },
    'a sealed secret': { issuer_url: 'https://provider.test', client_id: 'x', sealed_client_secret: 'AAAA' },
    'scopes that are no list': { issuer_url: 'https://provider.test', client_id: 'x', scopes: 'openid' },
  }
  for (const [name, options] of Object.entries(wrong))
    test(`refuses an agent that gives ${name}`, () => {
      assert.throws(() => asAgent(options), { code: 'bind_option' })
    })
})
