import { test } from 'node:test'
import { assertRefused, made, onEachStore, type Refused } from '../support/each-store.ts'
import type { Caller } from '../support/server.ts'
import { secretText } from '../support/secrets.ts'

const none = (prefix: string) => `${prefix}_${'0'.repeat(27)}`
const filled = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, '1']))

/** Things of each kind that the refusals below refer to. */
async function prepare(api: Caller) {
  const [policy, backend, edge, domain] = [
    await made(api, '/ip_policies'),
    await made(api, '/backends/http_response'),
    await made(api, '/edges/https'),
    await made(api, '/reserved_domains', { domain: 'taken.example.com' }),
  ]
  const rule = await made(api, '/ip_policy_rules', {
    cidr: '10.0.0.0/8',
    action: 'allow',
    ip_policy_id: policy.id,
  })
  const routes = `/edges/https/${edge.id}/routes`
  const route = await made(api, routes, { match_type: 'exact_path', match: '/one' })
  const destination = await made(api, '/event_destinations', { target: { debug: {} } })
  const subscription = await made(api, '/event_subscriptions', {
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [destination.id],
  })
  const configuration = await made(api, '/endpoint_configurations', { type: 'tcp' })
  return { policy, backend, edge, domain, rule, routes, route, destination, subscription, configuration }
}
type World = Awaited<ReturnType<typeof prepare>>

const domains: [string, unknown, number, RegExp?][] = [
  ['nothing', {}, 422, /"domain"/],
  ['both name and domain', { name: 'a', domain: 'b.example.com' }, 449],
  ['a domain without a dot', { domain: 'localhost' }, 448, /full name/],
  ['a wildcard in the middle', { domain: 'a.*.example.com' }, 402],
  ['half a wildcard', { domain: 'a*.example.com' }, 403],
  ['a name of the server itself', { name: 'idp' }, 404],
  ['the shared domain', { domain: 'adit.localhost' }, 404],
  ['a strange character', { domain: 'a!b.example.com' }, 406],
  ['a label that starts with -', { domain: '-a.example.com' }, 407, /"-a"/],
  ['a label that ends with -', { domain: 'a-.example.com' }, 408],
  ['two dots', { domain: 'a..example.com' }, 409],
  ['hyphens that are not punycode', { domain: 'ab--cd.example.com' }, 410],
  ['an address', { domain: '10.0.0.1' }, 411],
  ['a name that is taken', { domain: 'TAKEN.example.com.' }, 413, /rd_/],
  ['the wildcard of the shared domain', { domain: '*.adit.localhost' }, 416],
  ['broken punycode', { domain: 'xn--a.example.com' }, 429],
  ['an underscore', { domain: 'a_b.example.com' }, 438],
  ['a long label', { domain: `${'a'.repeat(64)}.example.com` }, 513],
  ['a long name', { domain: `${'a.'.repeat(130)}example.com` }, 514],
  ['a wrong region', { name: 'ok', region: 'mars' }, 400],
  ['an unknown certificate', { domain: 'c.example.com', certificate_id: none('cert') }, 1965],
  ['something that is no certificate', { domain: 'c.example.com', certificate_id: none('rd') }, 223],
  [
    'a certificate and a policy',
    {
      domain: 'c.example.com',
      certificate_id: none('cert'),
      certificate_management_policy: { authority: 'letsencrypt' },
    },
    434,
  ],
  [
    'a policy below the shared domain',
    { name: 'ok', certificate_management_policy: { authority: 'letsencrypt' } },
    439,
  ],
  ['a certificate below the shared domain', { name: 'ok', certificate_id: none('cert') }, 440],
  [
    'another authority',
    { domain: 'c.example.com', certificate_management_policy: { authority: 'other' } },
    1908,
  ],
  [
    'another key type',
    {
      domain: 'c.example.com',
      certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'dsa' },
    },
    1909,
  ],
  ['too long a description', { name: 'ok', description: 'é'.repeat(128) }, 420],
  ['too much metadata', { name: 'ok', metadata: 'é'.repeat(2049) }, 421],
]

const provider = (settings: object, name = 'google') => ({ provider: { [name]: settings } })
const own = { client_id: 'a', client_secret: secretText('client') }

/** Module, what is put, the code, and what the message must say. */
const modules: [string, unknown, number, RegExp?][] = [
  ['backend', {}, 215, /"backend_id" is required/],
  ['backend', { backend_id: 'nope' }, 242],
  ['backend', { backend_id: none('ipp') }, 242],
  ['backend', { backend_id: none('bkdhr') }, 6501],
  ['ip_restriction', { ip_policy_ids: [] }, 7025],
  ['ip_restriction', {}, 7025],
  ['ip_restriction', { ip_policy_ids: [none('ipp')] }, 7007],
  ['ip_restriction', { ip_policy_ids: [none('ca')] }, 229],
  ['ip_restriction', { ip_policy_ids: Array.from({ length: 101 }, () => none('ipp')) }, 7013],
  ['circuit_breaker', { error_threshold_percentage: 1.5 }, 7011, /fraction/],
  ['circuit_breaker', { error_threshold_percentage: -0.1 }, 7011],
  ['circuit_breaker', { tripped_duration: 0 }, 7016],
  ['circuit_breaker', { rolling_window: 0 }, 7017],
  ['circuit_breaker', { num_buckets: 129 }, 7018, /128/],
  ['circuit_breaker', { num_buckets: 0 }, 7018],
  ['circuit_breaker', { volume_threshold: -1 }, 215],
  ['circuit_breaker', { volume_threshold: 4_294_967_296 }, 215],
  ['request_headers', { add: filled(101) }, 7015],
  ['request_headers', { add: { 'a b': '1' } }, 7023],
  ['request_headers', { add: { a: '1', A: '2' } }, 7069],
  ['request_headers', { remove: ['host'] }, 7164],
  ['request_headers', { remove: ['User-Agent'] }, 90017],
  ['request_headers', { add: { 'Content-Length': '0' } }, 90011],
  ['response_headers', { add: { a: 'b\r\nc' } }, 215],
  ['response_headers', { add: { a: 1 } }, 215],
  ['webhook_verification', { secret: secretText('webhook') }, 7029],
  ['webhook_verification', { provider: 'nobody', secret: secretText('webhook') }, 7030],
  ['webhook_verification', { provider: 'GITHUB' }, 7027],
  ['webhook_verification', { provider: 'SNS', secret: secretText('webhook') }, 7026],
  ['webhook_verification', { provider: 'sendgrid', secret: secretText('webhook') }, 7107],
  ['oauth', { provider: {} }, 7037],
  ['oauth', {}, 7037],
  ['oauth', { provider: { google: {}, github: {} } }, 7036, /google/],
  ['oauth', { provider: { yahoo: {} } }, 214, /yahoo/],
  ['oauth', provider({ client_id: 'a' }), 7033],
  ['oauth', provider({ client_secret: secretText('client') }), 7033],
  ['oauth', provider({ scopes: ['a'] }), 7034],
  ['oauth', provider({}, 'facebook'), 7166],
  ['oauth', provider({}, 'amazon'), 7166],
  ['oauth', { ...provider({}), auth_check_interval: 179 }, 7035],
  ['oauth', { ...provider({}), cookie_prefix: 'a b' }, 7042],
  ['oauth', { ...provider({}), inactivity_timeout: 31_536_001 }, 7092],
  ['oauth', provider({ email_addresses: ['Me@example.com'] }), 7067],
  ['oauth', provider({ email_addresses: ['me'] }), 7045],
  ['oauth', provider({ email_domains: ['Example.com'] }), 7068],
  ['oauth', provider({ email_domains: ['a b'] }), 7039],
  ['oauth', provider({ email_domains: ['a.com', 'a.com'] }), 7043],
  ['oauth', provider({ email_domains: [''] }), 7044],
  ['oauth', provider({ ...own, teams: ['team'] }, 'github'), 7040],
  ['oauth', provider({ ...own, teams: ['a/b'] }), 214],
  ['oidc', { client_id: 'a', client_secret: secretText('client') }, 7088],
  ['oidc', { issuer: 'ftp://a', client_id: 'a', client_secret: secretText('client') }, 7088],
  [
    'oidc',
    { issuer: `https://a/${'a'.repeat(255)}`, client_id: 'a', client_secret: secretText('client') },
    7087,
  ],
  ['oidc', { issuer: 'https://a.example', client_secret: secretText('client') }, 7089],
  ['oidc', { issuer: 'https://a.example', client_id: 'b' }, 7090],
  ['saml', {}, 7091],
  ['saml', { idp_metadata: '' }, 7091],
  ['saml', { idp_metadata: '<a/>' }, 7085],
  ['saml', { idp_metadata: '<a' }, 7085],
  ['saml', { idp_metadata: '<!DOCTYPE a []><a/>' }, 7085],
  ['saml', { idp_metadata: 'x'.repeat(262_145) }, 7080],
  ['user_agent_filter', { allow: ['('] }, 90018],
  ['traffic_policy', { value: 'x'.repeat(65_537) }, 90024],
  ['compression', { enabled: 'yes' }, 215, /true or false/],
  ['compression', { level: 9 }, 214, /level/],
]

const plain: (world: World) => [string, Refused][] = world => [
  [
    'an IP rule without mask',
    {
      path: '/ip_policy_rules',
      body: { cidr: '10.0.0.1', action: 'allow', ip_policy_id: world.policy.id },
      code: 1413,
      says: /10\.0\.0\.1\/32/,
    },
  ],
  [
    'an IP rule that is no range',
    {
      path: '/ip_policy_rules',
      body: { cidr: '10.0.0/8', action: 'allow', ip_policy_id: world.policy.id },
      code: 1406,
    },
  ],
  [
    'an IP rule not at the lowest address',
    {
      path: '/ip_policy_rules',
      body: { cidr: '10.1.2.3/8', action: 'allow', ip_policy_id: world.policy.id },
      code: 1409,
      says: /10\.0\.0\.0\/8/,
    },
  ],
  [
    'an IPv6 rule not at the lowest address',
    {
      path: '/ip_policy_rules',
      body: { cidr: '2001:db8::1/32', action: 'deny', ip_policy_id: world.policy.id },
      code: 1409,
      says: /2001:db8::\/32/,
    },
  ],
  [
    'a rule for the same range twice',
    {
      path: '/ip_policy_rules',
      body: { cidr: '10.0.0.0/8', action: 'deny', ip_policy_id: world.policy.id },
      code: 1408,
      says: /ipr_/,
    },
  ],
  [
    'another action',
    {
      path: '/ip_policy_rules',
      body: { cidr: '10.0.0.0/9', action: 'ask', ip_policy_id: world.policy.id },
      code: 1422,
    },
  ],
  [
    'a rule without policy',
    {
      path: '/ip_policy_rules',
      body: { cidr: '10.0.0.0/9', action: 'deny' },
      code: 215,
      says: /"ip_policy_id"/,
    },
  ],
  [
    'a rule of an unknown policy',
    {
      path: '/ip_policy_rules',
      body: { cidr: '10.0.0.0/9', action: 'deny', ip_policy_id: none('ipp') },
      code: 1402,
    },
  ],
  [
    'a rule of something else',
    {
      path: '/ip_policy_rules',
      body: { cidr: '10.0.0.0/9', action: 'deny', ip_policy_id: world.backend.id },
      code: 1414,
    },
  ],
  [
    'changing the action of a rule',
    { method: 'PATCH', path: `/ip_policy_rules/${world.rule.id}`, body: { action: 'deny' }, code: 214 },
  ],
  [
    'a restriction without type',
    { path: '/ip_restrictions', body: { ip_policy_ids: [world.policy.id] }, code: 1803 },
  ],
  [
    'a restriction of another type',
    { path: '/ip_restrictions', body: { type: 'all', ip_policy_ids: [world.policy.id] }, code: 1803 },
  ],
  [
    'a restriction without policies',
    { path: '/ip_restrictions', body: { type: 'agent', ip_policy_ids: [] }, code: 1804 },
  ],
  [
    'a restriction by an unknown policy',
    { path: '/ip_restrictions', body: { type: 'agent', ip_policy_ids: [none('ipp')] }, code: 1801 },
  ],
  [
    'a weight above 10000',
    {
      path: '/backends/weighted',
      body: { backends: { [world.backend.id]: 10_001 } },
      code: 6512,
      says: /10000/,
    },
  ],
  [
    'a negative weight',
    { path: '/backends/weighted', body: { backends: { [world.backend.id]: -1 } }, code: 6512 },
  ],
  [
    'half a weight',
    { path: '/backends/weighted', body: { backends: { [world.backend.id]: 0.5 } }, code: 6512 },
  ],
  [
    'an unknown child',
    { path: '/backends/weighted', body: { backends: { [none('bkdhr')]: 1 } }, code: 6501 },
  ],
  [
    'a child of another kind',
    { path: '/backends/weighted', body: { backends: { [world.policy.id]: 1 } }, code: 242 },
  ],
  [
    'a failover child twice',
    { path: '/backends/failover', body: { backends: [world.backend.id, world.backend.id] }, code: 90010 },
  ],
  ['a status code of 99', { path: '/backends/http_response', body: { status_code: 99 }, code: 6517 }],
  [
    'a body that is too big',
    { path: '/backends/http_response', body: { body: 'é'.repeat(32_769) }, code: 6516 },
  ],
  [
    'a response header with a space',
    { path: '/backends/http_response', body: { headers: { 'a b': '1' } }, code: 7023 },
  ],
  ['an address without a port', { path: '/backends/static', body: { address: 'example.com' }, code: 6505 }],
  [
    'an address with a strange host',
    { path: '/backends/static', body: { address: 'exa mple:80' }, code: 6505 },
  ],
  ['no address', { path: '/backends/static', body: {}, code: 6505 }],
  ['a tunnel group without labels', { path: '/backends/tunnel_group', body: { labels: {} }, code: 6508 }],
  ['a label with =', { path: '/backends/tunnel_group', body: { labels: { 'a=b': 'c' } }, code: 6531 }],
  [
    'a match without a slash',
    { path: world.routes, body: { match_type: 'exact_path', match: 'path' }, code: 7131 },
  ],
  ['no match', { path: world.routes, body: { match_type: 'exact_path' }, code: 7123 }],
  ['another match type', { path: world.routes, body: { match_type: 'regex', match: '/' }, code: 7130 }],
  [
    'a match that is there already',
    { path: world.routes, body: { match_type: 'path_prefix', match: '/one' }, code: 7126, says: /edghtsrt_/ },
  ],
  [
    'a long match',
    { path: world.routes, body: { match_type: 'exact_path', match: `/${'a'.repeat(2048)}` }, code: 7135 },
  ],
  [
    'a route of an unknown edge',
    {
      path: `/edges/https/${none('edghts')}/routes`,
      body: { match_type: 'exact_path', match: '/' },
      code: undefined,
      status: 404,
    },
  ],
  [
    'two ways to sign in',
    {
      path: world.routes,
      body: {
        match_type: 'exact_path',
        match: '/two',
        oauth: provider({}),
        oidc: { issuer: 'https://a.example', ...own },
      },
      code: 7079,
    },
  ],
  [
    'a hostport without a port',
    { path: '/edges/https', body: { hostports: ['taken.example.com'] }, code: 7104 },
  ],
  [
    'a hostport on another port',
    { path: '/edges/https', body: { hostports: ['taken.example.com:8443'] }, code: 7116 },
  ],
  ['port 0', { path: '/edges/tcp', body: { hostports: ['a.example.com:0'] }, code: 7112 }],
  [
    'a low port',
    { path: '/edges/tcp', body: { hostports: ['a.example.com:22'] }, code: 90025, says: /1024-65535/ },
  ],
  [
    'a domain that is not reserved',
    { path: '/edges/tls', body: { hostports: ['free.example.com:443'] }, code: 7117 },
  ],
  [
    'an address on an HTTPS edge',
    { path: '/edges/https', body: { hostports: ['10.0.0.1:443'] }, code: 7121 },
  ],
  [
    'a hostport twice',
    {
      path: '/edges/https',
      body: { hostports: ['taken.example.com:443', 'taken.example.com:443'] },
      code: 90016,
    },
  ],
  [
    'terminate_at on an HTTPS edge',
    { path: '/edges/https', body: { tls_termination: { terminate_at: 'edge' } }, code: 214 },
  ],
  [
    'another place to end TLS',
    { path: '/edges/tls', body: { tls_termination: { terminate_at: 'moon' } }, code: 224 },
  ],
  [
    'a minimum version without ending TLS',
    {
      path: '/edges/tls',
      body: { tls_termination: { terminate_at: 'upstream', min_version: '1.2' } },
      code: 1694,
    },
  ],
  [
    'another TLS version',
    { path: '/edges/https', body: { tls_termination: { min_version: '2' } }, code: 90015 },
  ],
  [
    'mutual TLS without authorities',
    { path: '/edges/https', body: { mutual_tls: { certificate_authority_ids: [] } }, code: 90014 },
  ],
  [
    'mutual TLS by an unknown authority',
    { path: '/edges/https', body: { mutual_tls: { certificate_authority_ids: [none('ca')] } }, code: 7072 },
  ],
  [
    'mutual TLS by something else',
    { path: '/edges/https', body: { mutual_tls: { certificate_authority_ids: [none('ipp')] } }, code: 228 },
  ],
  [
    'mutual TLS by eleven',
    {
      path: '/edges/https',
      body: { mutual_tls: { certificate_authority_ids: Array.from({ length: 11 }, () => none('ca')) } },
      code: 7075,
    },
  ],
  [
    'an agent ingress without a domain',
    { path: '/agent_ingresses', body: {}, code: 215, says: /"domain" is required/ },
  ],
  [
    'an agent ingress below the shared domain',
    { path: '/agent_ingresses', body: { domain: 'a.adit.localhost' }, code: 6705 },
  ],
  ['an agent ingress of one label', { path: '/agent_ingresses', body: { domain: 'localhost' }, code: 6704 }],
  [
    'an event type that does not exist',
    { path: '/event_subscriptions', body: { sources: [{ type: 'rain.v0' }] }, code: 238 },
  ],
  [
    'a source twice',
    {
      path: `/event_subscriptions/${world.subscription.id}/sources`,
      body: { type: 'ip_policy_created.v0' },
      code: 5127,
    },
  ],
  [
    'a source that does not exist',
    { path: `/event_subscriptions/${world.subscription.id}/sources`, body: { type: 'rain.v0' }, code: 238 },
  ],
  [
    'removing a source that is not there',
    {
      method: 'DELETE',
      path: `/event_subscriptions/${world.subscription.id}/sources/domain_created.v0`,
      code: 5125,
      status: 404,
    },
  ],
  [
    'an unknown destination',
    { path: '/event_subscriptions', body: { destination_ids: [none('ed')] }, code: 5103 },
  ],
  ['no target', { path: '/event_destinations', body: { target: {} }, code: 5100 }],
  [
    'two targets',
    { path: '/event_destinations', body: { target: { debug: {}, file: { path: 'a' } } }, code: 5115 },
  ],
  [
    'another format',
    { path: '/event_destinations', body: { format: 'xml', target: { debug: {} } }, code: 235 },
  ],
  [
    'another kind of target',
    {
      method: 'PATCH',
      path: `/event_destinations/${world.destination.id}`,
      body: { target: { file: { path: 'a' } } },
      code: 5108,
    },
  ],
  [
    'AWS without credentials',
    {
      path: '/event_destinations',
      body: {
        target: { kinesis: { auth: {}, stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/a' } },
      },
      code: 5107,
    },
  ],
  [
    'a wrong ARN',
    {
      path: '/event_destinations',
      body: {
        target: {
          firehose: {
            auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/a' } },
            delivery_stream_arn: 'a',
          },
        },
      },
      code: 5118,
    },
  ],
  [
    'a file outside of the data folder',
    { path: '/event_destinations', body: { target: { file: { path: '../a' } } }, code: 90022 },
  ],
  [
    'a destination in use',
    { method: 'DELETE', path: `/event_destinations/${world.destination.id}`, code: 5112, says: /esb_/ },
  ],
  ['an ACL rule of another form', { path: '/credentials', body: { acl: ['connect:a'] }, code: 600 }],
  ['an ACL rule for nothing', { path: '/credentials', body: { acl: ['bind:'] }, code: 600 }],
  ['an endpoint configuration without type', { path: '/endpoint_configurations', body: {}, code: 90007 }],
  [
    'an HTTP module on TCP',
    { path: '/endpoint_configurations', body: { type: 'tcp', compression: {} }, code: 7021 },
  ],
  [
    'a configuration of the wrong type',
    {
      method: 'PATCH',
      path: `/reserved_domains/${world.domain.id}`,
      body: { http_endpoint_configuration_id: world.configuration.id },
      code: 428,
    },
  ],
  ['an owner that does not exist', { path: '/api_keys', body: { owner_id: none('usr') }, code: 634 }],
  ['a report without addresses', { path: '/abuse_reports', body: { urls: [] }, code: 90019 }],
  ['a report about no page', { path: '/abuse_reports', body: { urls: ['mailto:a@b'] }, code: 90020 }],
]

onEachStore('refusals', api => {
  test('of reserved domains each say what to change, and change nothing', async () => {
    const { domain } = await prepare(api())
    for (const [, body, code, says] of domains) {
      await assertRefused(api(), { path: '/reserved_domains', body, code, ...(says && { says }) }, [
        '/reserved_domains',
      ])
    }
    await api().delete(`/reserved_domains/${domain.id}`)
  })

  test('of modules are the same by PUT, by PATCH and on create', async () => {
    const { route, routes, domain } = await prepare(api())
    const path = `${routes}/${route.id}`
    for (const [name, body, code, says] of modules) {
      const refused = { code, ...(says && { says }) }
      await assertRefused(api(), { method: 'PUT', path: `${path}/${name}`, body, ...refused }, [path])
      await assertRefused(api(), { method: 'PATCH', path, body: { [name]: body }, code }, [path])
      await assertRefused(
        api(),
        { path: routes, body: { match_type: 'exact_path', match: '/new', [name]: body }, code },
        [routes],
      )
    }
    await api().delete(`/reserved_domains/${domain.id}`)
  })

  test('of everything else', async () => {
    const world = await prepare(api())
    for (const [, refused] of plain(world)) {
      const list = refused.path.replace(/\/(ed|ipr|rd|esb)_\w+.*$/, '')
      const listed = refused.status !== 404 && list !== '/abuse_reports'
      await assertRefused(api(), refused, listed ? [list] : [])
    }
  })
})
