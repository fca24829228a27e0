import assert from 'node:assert/strict'
import { createPublicKey, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { createResource, onEachStore } from '../support/each-store.ts'
import type { Caller } from '../support/server.ts'
import { secretText } from '../support/secrets.ts'

const METADATA =
  '<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example.com">' +
  '<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"/></md:EntityDescriptor>'

const allNull = {
  backend: null,
  ip_restriction: null,
  circuit_breaker: null,
  compression: null,
  request_headers: null,
  response_headers: null,
  webhook_verification: null,
  oauth: null,
  saml: null,
  oidc: null,
  websocket_tcp_converter: null,
  user_agent_filter: null,
  policy: null,
  traffic_policy: null,
}

const noProvider = {
  github: null,
  facebook: null,
  microsoft: null,
  google: null,
  linkedin: null,
  gitlab: null,
  twitch: null,
  amazon: null,
}
const openProvider = { client_id: '', client_secret: '', scopes: [], email_addresses: [], email_domains: [] }

/** What is sent for each module, and what must come back, defaults included. */
const modules: Record<string, { given: object; answer: object }> = {
  circuit_breaker: {
    given: { tripped_duration: 120, error_threshold_percentage: 0.25 },
    answer: {
      enabled: true,
      tripped_duration: 120,
      rolling_window: 10,
      num_buckets: 10,
      volume_threshold: 20,
      error_threshold_percentage: 0.25,
    },
  },
  compression: { given: {}, answer: { enabled: true } },
  websocket_tcp_converter: { given: { enabled: false }, answer: { enabled: false } },
  request_headers: {
    given: { add: { 'X-Frontend': 'yes' }, remove: ['Cache-Control'] },
    answer: { enabled: true, add: { 'x-frontend': 'yes' }, remove: ['cache-control'] },
  },
  response_headers: { given: { add: { A: '1' } }, answer: { enabled: true, add: { a: '1' }, remove: [] } },
  webhook_verification: {
    given: { provider: 'GITHUB', secret: secretText('webhook') },
    answer: { enabled: true, provider: 'GITHUB', secret: secretText('webhook') },
  },
  user_agent_filter: {
    given: { allow: ['^curl/'], deny: ['bot'] },
    answer: { enabled: true, allow: ['^curl/'], deny: ['bot'] },
  },
  oidc: {
    given: {
      issuer: 'https://id.example.com',
      client_id: 'me',
      client_secret: secretText('oidc'),
      scopes: ['profile'],
    },
    answer: {
      enabled: true,
      options_passthrough: false,
      cookie_prefix: '',
      inactivity_timeout: 0,
      maximum_duration: 0,
      issuer: 'https://id.example.com',
      client_id: 'me',
      client_secret: secretText('oidc'),
      scopes: ['profile'],
    },
  },
  oauth: {
    given: { provider: { google: { email_domains: ['example.com'] } }, auth_check_interval: 600 },
    answer: {
      enabled: true,
      options_passthrough: false,
      cookie_prefix: 'adit.',
      inactivity_timeout: 0,
      maximum_duration: 0,
      provider: { ...noProvider, google: { ...openProvider, email_domains: ['example.com'] } },
      auth_check_interval: 600,
    },
  },
  policy: {
    given: {
      inbound: [{ name: 'a', expressions: ['true'], actions: [{ type: 'deny', config: { status: 404 } }] }],
      outbound: [],
    },
    answer: {
      enabled: true,
      inbound: [{ name: 'a', expressions: ['true'], actions: [{ type: 'deny', config: { status: 404 } }] }],
      outbound: [],
    },
  },
  traffic_policy: {
    given: { value: 'on_http_request: []\n' },
    answer: { enabled: true, value: 'on_http_request: []\n' },
  },
}

async function newRoute(api: Caller, extra: object = {}) {
  const edge = await createResource(api, '/edges/https', {})
  const route = await createResource(api, `/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/api',
    ...extra,
  })
  return { edge, route, path: `/edges/https/${edge.id}/routes/${route.id}` }
}

onEachStore('HTTPS edge routes', api => {
  test('are made on an edge, with every module null until it is set', async () => {
    const { edge, route, path } = await newRoute(api(), { description: 'd', metadata: 'm' })
    assert.deepEqual(route, {
      id: route.id,
      uri: api().url + path,
      created_at: route.created_at,
      edge_id: edge.id,
      match_type: 'path_prefix',
      match: '/api',
      normalize_path: true,
      capture: false,
      description: 'd',
      metadata: 'm',
      ...allNull,
    })
    assert.match(route.id, /^edghtsrt_/)
    assert.deepEqual((await api().get(path)).body, route)
    assert.deepEqual((await api().get(`/edges/https/${edge.id}`)).body.routes, [route])
    assert.deepEqual((await api().get(`/edges/https/${edge.id}/routes`)).body.routes, [route])
  })

  for (const [name, { given, answer }] of Object.entries(modules)) {
    test(`take, return and lose the module ${name}`, async () => {
      const { path } = await newRoute(api())
      assert.equal((await api().get(`${path}/${name}`)).status, 404)
      const put = await api().put(`${path}/${name}`, given)
      assert.equal(put.status, 200, JSON.stringify(put.body))
      assert.deepEqual(put.body, answer)
      assert.deepEqual((await api().get(`${path}/${name}`)).body, answer)
      assert.deepEqual((await api().get(path)).body[name], answer)
      assert.equal((await api().delete(`${path}/${name}`)).status, 204)
      assert.equal((await api().get(path)).body[name], null)
      const withModule = await newRoute(api(), { [name]: given })
      assert.deepEqual(withModule.route[name], answer)
    })
  }

  test('take every OAuth provider with an application of its own', async () => {
    for (const provider of Object.keys(noProvider)) {
      const extra = provider === 'github' ? { teams: ['org/team'], organizations: ['org'] } : {}
      const settings = {
        ...openProvider,
        client_id: 'id',
        client_secret: secretText('oauth'),
        scopes: ['s'],
        ...extra,
      }
      const { route } = await newRoute(api(), { oauth: { provider: { [provider]: settings } } })
      assert.deepEqual(route.oauth.provider, { ...noProvider, [provider]: settings })
    }
  })

  test('keep the SAML signing certificate while its configuration changes', async () => {
    const { route, path } = await newRoute(api(), { saml: { idp_metadata: METADATA } })
    const { saml } = route
    // The port is the one that the gateway got.
    const [, port] = /:(\d+)\/saml/.exec(saml.entity_id) ?? []
    assert.ok(port !== undefined)
    const entity = `https://idp.adit.localhost:${port}/saml/${route.id}`
    assert.deepEqual(
      [saml.entity_id, saml.metadata_url, saml.assertion_consumer_service_url, saml.single_logout_url],
      [entity, entity, `${entity}/acs`, `${entity}/slo`],
    )
    assert.equal(saml.nameid_format, 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent')
    assert.equal(saml.allow_idp_initiated, true)
    assert.equal(saml.request_signing_key_pem, undefined)
    const certificate = new X509Certificate(saml.request_signing_certificate_pem)
    assert.match(certificate.subject, new RegExp(`CN=${entity}`))
    assert.ok(
      certificate.verify(createPublicKey(certificate.publicKey.export({ type: 'spki', format: 'pem' }))),
    )
    const changed = await api().put(`${path}/saml`, { idp_metadata: METADATA, force_authn: true })
    assert.equal(changed.body.force_authn, true)
    assert.equal(changed.body.request_signing_certificate_pem, saml.request_signing_certificate_pem)
  })

  test('are changed by PATCH: what is not given stays', async () => {
    const { route, path } = await newRoute(api(), { compression: {}, description: 'd' })
    const changed = await api().patch(path, {
      match: '/other',
      circuit_breaker: { error_threshold_percentage: 0.5 },
    })
    assert.equal(changed.status, 200)
    assert.deepEqual(
      { ...changed.body, circuit_breaker: null },
      { ...route, match: '/other', circuit_breaker: null },
    )
  })

  test('go with their edge, and are found only on it', async () => {
    const { edge, route, path } = await newRoute(api())
    const other = await createResource(api(), '/edges/https', {})
    assert.equal((await api().get(`/edges/https/${other.id}/routes/${route.id}`)).status, 404)
    assert.equal((await api().delete(`/edges/https/${edge.id}`)).status, 204)
    assert.equal((await api().get(path)).status, 404)
  })

  test('take exact paths, host names, and both together', async () => {
    const { edge } = await newRoute(api())
    const path = `/edges/https/${edge.id}/routes`
    for (const match of ['/', '/a/b%20c', 'example.com', 'Example.COM/Blog']) {
      const route = await createResource(api(), path, { match_type: 'exact_path', match })
      assert.equal(route.match, match.replace('Example.COM', 'example.com'))
    }
  })
})

onEachStore(
  'reserved addresses',
  api => {
    test('are ports that edges may use, until none is free', async () => {
      const ports = new Set<number>()
      for (let count = 0; count < 3; count++) {
        const { addr } = await createResource(api(), '/reserved_addrs', { region: 'eu' })
        assert.match(addr, /^1\.tcp\.eu\.adit\.localhost:3000[0-2]$/)
        ports.add(Number(addr.split(':')[1]))
        await createResource(api(), '/edges/tcp', { hostports: [addr] })
      }
      assert.equal(ports.size, 3)
      const refused = await api().post('/reserved_addrs')
      assert.deepEqual([refused.status, refused.body.error_code], [400, 'ERR_ADIT_503'])
    })

    test('keep their port from edges only while they exist', async () => {
      const { reserved_addrs: addresses } = (await api().get('/reserved_addrs')).body
      const { tcp_edges: edges } = (await api().get('/edges/tcp')).body
      for (const edge of edges) assert.equal((await api().delete(`/edges/tcp/${edge.id}`)).status, 204)
      const [first] = addresses
      assert.equal((await api().delete(`/reserved_addrs/${first.id}`)).status, 204)
      await createResource(api(), '/edges/tcp', { hostports: [first.addr] })
    })
  },
  { tcp_ports: '30000-30002' },
)

onEachStore('HTTPS and TLS edges', api => {
  test('serve a domain reserved by name and by domain at once, if both mean the same', async () => {
    const both = await createResource(api(), '/reserved_domains', {
      name: 'both.example.com',
      domain: 'Both.example.com',
    })
    assert.equal(both.domain, 'both.example.com')
    await createResource(api(), '/edges/https', { hostports: ['both.example.com:443'] })
  })

  test('serve reserved domains, and keep them from being given up', async () => {
    const domain = await createResource(api(), '/reserved_domains', { domain: 'App.Example.com' })
    const edge = await createResource(api(), '/edges/https', { hostports: ['app.example.com:443'] })
    assert.deepEqual(edge.hostports, ['app.example.com:443'])
    const refused = await api().delete(`/reserved_domains/${domain.id}`)
    assert.equal(refused.body.error_code, 'ERR_ADIT_446')
    assert.match(refused.body.msg, new RegExp(edge.id))
    assert.equal((await api().patch(`/edges/https/${edge.id}`, { hostports: [] })).status, 200)
    assert.equal((await api().delete(`/reserved_domains/${domain.id}`)).status, 204)
  })

  test('serve names below a reserved wildcard', async () => {
    await createResource(api(), '/reserved_domains', { domain: '*.wild.example.org' })
    await createResource(api(), '/edges/tls', { hostports: ['*.wild.example.org:443'] })
    await createResource(api(), '/edges/https', { hostports: ['a.b.wild.example.org:443'] })
  })

  test('on TCP take any allowed port, and reserve it', async () => {
    const address = await createResource(api(), '/reserved_addrs', { description: 'db' })
    assert.match(address.addr, /^1\.tcp\.adit\.localhost:2\d{4}$/)
    const edge = await createResource(api(), '/edges/tcp', { hostports: [address.addr, 'localhost:15432'] })
    assert.equal((await api().delete(`/reserved_addrs/${address.id}`)).body.error_code, 'ERR_ADIT_90006')
    assert.equal((await api().delete(`/edges/tcp/${edge.id}`)).status, 204)
    assert.equal((await api().delete(`/reserved_addrs/${address.id}`)).status, 204)
  })
})
