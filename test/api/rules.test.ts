import { test } from 'node:test'
import { assertRefused, createResource, onEachStore, type RejectedCall } from '../support/each-store.ts'
import type { Caller } from '../support/server.ts'
import { secretText } from '../support/secrets.ts'

const none = (prefix: string) => `${prefix}_${'0'.repeat(27)}`
const filled = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, '1']))

/** Things of each kind that the refusals below refer to. */
async function prepare(api: Caller) {
  const [policy, backend, edge, domain] = [
    await createResource(api, '/ip_policies'),
    await createResource(api, '/backends/http_response'),
    await createResource(api, '/edges/https'),
    await createResource(api, '/reserved_domains', { domain: 'taken.example.com' }),
  ]
  const rule = await createResource(api, '/ip_policy_rules', {
    cidr: '10.0.0.0/8',
    action: 'allow',
    ip_policy_id: policy.id,
  })
  const routes = `/edges/https/${edge.id}/routes`
  const route = await createResource(api, routes, { match_type: 'exact_path', match: '/one' })
  const destination = await createResource(api, '/event_destinations', { target: { debug: {} } })
  const subscription = await createResource(api, '/event_subscriptions', {
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [destination.id],
  })
  const configuration = await createResource(api, '/endpoint_configurations', { type: 'tcp' })
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
  ['webhook_verification', { provider: 'unknown', secret: secretText('webhook') }, 7030],
  ['webhook_verification', { provider: 'GITHUB' }, 7027],
  ['webhook_verification', { provider: 'SNS', secret: secretText('webhook') }, 7026],
  ['webhook_verification', { provider: 'sendgrid', secret: secretText('webhook') }, 7107],
  ['oauth', { provider: {} }, 7037],
  ['oauth', {}, 7037],
  ['oauth', { provider: { google: {}, amazon: {} } }, 7166, /amazon/],
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

/** What is refused, the call (POST when only a path), its body, the code, and what the message must say. */
const plain: (world: World) => [string, string, unknown, number, RegExp?][] = world => [
  [
    'an IP rule without mask',
    '/ip_policy_rules',
    { cidr: '10.0.0.1', action: 'allow', ip_policy_id: world.policy.id },
    1413,
    /10\.0\.0\.1\/32/,
  ],
  [
    'an IP rule that is no range',
    '/ip_policy_rules',
    { cidr: '10.0.0/8', action: 'allow', ip_policy_id: world.policy.id },
    1406,
  ],
  [
    'an IP rule not at the lowest address',
    '/ip_policy_rules',
    { cidr: '10.1.2.3/8', action: 'allow', ip_policy_id: world.policy.id },
    1409,
    /10\.0\.0\.0\/8/,
  ],
  [
    'an IPv6 rule not at the lowest address',
    '/ip_policy_rules',
    { cidr: '2001:db8::1/32', action: 'deny', ip_policy_id: world.policy.id },
    1409,
    /2001:db8::\/32/,
  ],
  [
    'a rule for the same range twice',
    '/ip_policy_rules',
    { cidr: '10.0.0.0/8', action: 'deny', ip_policy_id: world.policy.id },
    1408,
    /ipr_/,
  ],
  [
    'another action',
    '/ip_policy_rules',
    { cidr: '10.0.0.0/9', action: 'ask', ip_policy_id: world.policy.id },
    1422,
  ],
  [
    'a rule without policy',
    '/ip_policy_rules',
    { cidr: '10.0.0.0/9', action: 'deny' },
    215,
    /"ip_policy_id"/,
  ],
  [
    'a rule of an unknown policy',
    '/ip_policy_rules',
    { cidr: '10.0.0.0/9', action: 'deny', ip_policy_id: none('ipp') },
    1402,
  ],
  [
    'a rule of something else',
    '/ip_policy_rules',
    { cidr: '10.0.0.0/9', action: 'deny', ip_policy_id: world.backend.id },
    1414,
  ],
  ['changing the action of a rule', `PATCH /ip_policy_rules/${world.rule.id}`, { action: 'deny' }, 214],
  ['a restriction without type', '/ip_restrictions', { ip_policy_ids: [world.policy.id] }, 1803],
  [
    'a restriction of another type',
    '/ip_restrictions',
    { type: 'all', ip_policy_ids: [world.policy.id] },
    1803,
  ],
  ['a restriction without policies', '/ip_restrictions', { type: 'agent', ip_policy_ids: [] }, 1804],
  [
    'a restriction by an unknown policy',
    '/ip_restrictions',
    { type: 'agent', ip_policy_ids: [none('ipp')] },
    1801,
  ],
  ['a weight above 10000', '/backends/weighted', { backends: { [world.backend.id]: 10_001 } }, 6512, /10000/],
  ['a negative weight', '/backends/weighted', { backends: { [world.backend.id]: -1 } }, 6512],
  ['half a weight', '/backends/weighted', { backends: { [world.backend.id]: 0.5 } }, 6512],
  ['an unknown child', '/backends/weighted', { backends: { [none('bkdhr')]: 1 } }, 6501],
  ['a child of another kind', '/backends/weighted', { backends: { [world.policy.id]: 1 } }, 242],
  ['a failover child twice', '/backends/failover', { backends: [world.backend.id, world.backend.id] }, 90010],
  ['a status code of 99', '/backends/http_response', { status_code: 99 }, 6517],
  ['a body that is too big', '/backends/http_response', { body: 'é'.repeat(32_769) }, 6516],
  ['a response header with a space', '/backends/http_response', { headers: { 'a b': '1' } }, 7023],
  ['an address without a port', '/backends/static', { address: 'example.com' }, 6505],
  ['an address with a strange host', '/backends/static', { address: 'exa mple:80' }, 6505],
  ['no address', '/backends/static', {}, 6505],
  ['a tunnel group without labels', '/backends/tunnel_group', { labels: {} }, 6508],
  ['a label with =', '/backends/tunnel_group', { labels: { 'a=b': 'c' } }, 6531],
  ['a match without a slash', world.routes, { match_type: 'exact_path', match: 'path' }, 7131],
  ['no match', world.routes, { match_type: 'exact_path' }, 7123],
  ['another match type', world.routes, { match_type: 'regex', match: '/' }, 7130],
  [
    'a match that is there already',
    world.routes,
    { match_type: 'path_prefix', match: '/one' },
    7126,
    /edghtsrt_/,
  ],
  ['a long match', world.routes, { match_type: 'exact_path', match: `/${'a'.repeat(2048)}` }, 7135],
  ['a hostport without a port', '/edges/https', { hostports: ['taken.example.com'] }, 7104],
  ['a hostport on another port', '/edges/https', { hostports: ['taken.example.com:8443'] }, 7116],
  ['port 0', '/edges/tcp', { hostports: ['a.example.com:0'] }, 7112],
  ['a low port', '/edges/tcp', { hostports: ['a.example.com:22'] }, 90025, /1024-65535/],
  ['a domain that is not reserved', '/edges/tls', { hostports: ['free.example.com:443'] }, 7117],
  ['an address on an HTTPS edge', '/edges/https', { hostports: ['10.0.0.1:443'] }, 7121],
  [
    'a hostport twice',
    '/edges/https',
    { hostports: ['taken.example.com:443', 'taken.example.com:443'] },
    90016,
  ],
  ['terminate_at on an HTTPS edge', '/edges/https', { tls_termination: { terminate_at: 'edge' } }, 214],
  ['another place to end TLS', '/edges/tls', { tls_termination: { terminate_at: 'moon' } }, 224],
  [
    'a minimum version without ending TLS',
    '/edges/tls',
    { tls_termination: { terminate_at: 'upstream', min_version: '1.2' } },
    1694,
  ],
  ['another TLS version', '/edges/https', { tls_termination: { min_version: '2' } }, 90015],
  [
    'mutual TLS without authorities',
    '/edges/https',
    { mutual_tls: { certificate_authority_ids: [] } },
    90014,
  ],
  [
    'mutual TLS by an unknown authority',
    '/edges/https',
    { mutual_tls: { certificate_authority_ids: [none('ca')] } },
    7072,
  ],
  [
    'mutual TLS by something else',
    '/edges/https',
    { mutual_tls: { certificate_authority_ids: [none('ipp')] } },
    228,
  ],
  [
    'mutual TLS by eleven',
    '/edges/https',
    { mutual_tls: { certificate_authority_ids: Array.from({ length: 11 }, () => none('ca')) } },
    7075,
  ],
  ['an agent ingress without a domain', '/agent_ingresses', {}, 215, /"domain" is required/],
  ['an agent ingress below the shared domain', '/agent_ingresses', { domain: 'a.adit.localhost' }, 6705],
  ['an agent ingress of one label', '/agent_ingresses', { domain: 'localhost' }, 6704],
  ['an event type that does not exist', '/event_subscriptions', { sources: [{ type: 'rain.v0' }] }, 238],
  [
    'a source twice',
    `/event_subscriptions/${world.subscription.id}/sources`,
    { type: 'ip_policy_created.v0' },
    5127,
  ],
  [
    'a source that does not exist',
    `/event_subscriptions/${world.subscription.id}/sources`,
    { type: 'rain.v0' },
    238,
  ],
  ['an unknown destination', '/event_subscriptions', { destination_ids: [none('ed')] }, 5103],
  ['no target', '/event_destinations', { target: {} }, 5100],
  ['two targets', '/event_destinations', { target: { debug: {}, file: { path: 'a' } } }, 5115],
  ['another format', '/event_destinations', { format: 'xml', target: { debug: {} } }, 235],
  [
    'another kind of target',
    `PATCH /event_destinations/${world.destination.id}`,
    { target: { file: { path: 'a' } } },
    5108,
  ],
  [
    'AWS without credentials',
    '/event_destinations',
    {
      target: { kinesis: { auth: {}, stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/a' } },
    },
    5107,
  ],
  [
    'a wrong ARN',
    '/event_destinations',
    {
      target: {
        firehose: {
          auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/a' } },
          delivery_stream_arn: 'a',
        },
      },
    },
    5118,
  ],
  ['a file outside of the data folder', '/event_destinations', { target: { file: { path: '../a' } } }, 90022],
  ['a destination in use', `DELETE /event_destinations/${world.destination.id}`, undefined, 5112, /esb_/],
  ['an ACL rule of another form', '/credentials', { acl: ['connect:a'] }, 600],
  ['an ACL rule for nothing', '/credentials', { acl: ['bind:'] }, 600],
  ['an endpoint configuration without type', '/endpoint_configurations', {}, 90007],
  ['an HTTP module on TCP', '/endpoint_configurations', { type: 'tcp', compression: {} }, 7021],
  [
    'a configuration of the wrong type',
    `PATCH /reserved_domains/${world.domain.id}`,
    { http_endpoint_configuration_id: world.configuration.id },
    428,
  ],
  ['an owner that does not exist', '/api_keys', { owner_id: none('usr') }, 634],
  ['a report without addresses', '/abuse_reports', { urls: [] }, 90019],
  ['a report about no page', '/abuse_reports', { urls: ['mailto:a@b'] }, 90020],
]

const missing: (world: World) => RejectedCall[] = world => [
  // A route of an unknown edge.
  {
    path: `/edges/https/${none('edghts')}/routes`,
    body: { match_type: 'exact_path', match: '/' },
    code: undefined,
    status: 404,
  },
  // Removing a source that is not there.
  {
    method: 'DELETE',
    path: `/event_subscriptions/${world.subscription.id}/sources/domain_created.v0`,
    code: 5125,
    status: 404,
  },
]

onEachStore('refusals', api => {
  test('of reserved domains each name what to change, and change nothing', async () => {
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
    for (const [, call, body, code, says] of plain(world)) {
      const [path, method] = call.split(' ').toReversed() as [string, ('PATCH' | 'DELETE')?]
      const list = path.replace(/\/(ed|ipr|rd|esb)_\w+.*$/, '')
      const refused = {
        path,
        code,
        ...(method && { method }),
        ...(body !== undefined && { body }),
        ...(says && { says }),
      }
      await assertRefused(api(), refused, list === '/abuse_reports' ? [] : [list])
    }
    for (const refused of missing(world)) await assertRefused(api(), refused, [])
  })
})
