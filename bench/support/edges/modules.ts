import { secretText } from '../../../test/support/secrets.ts'
import { OpenIdProvider, EdgeBrowser } from '../../../test/auth/oidc/openid-provider.ts'
import type { Row } from '../row.ts'
import { compareRates, type Rated } from './rated.ts'
import { DOMAIN, type Site } from './site.ts'

const HOST = 'modules.example.test'
const RULES = 10_000

/** Allows this machine. */
const ourselves = { cidr: '127.0.0.0/8', action: 'allow' }

/** Disjoint ranges, so that all of them are searched. */
const elsewhere = (at: number) => ({
  cidr: `10.${at >> 8}.${at & 255}.0/25`,
  action: at % 2 === 0 ? 'allow' : 'deny',
})

/** An IP policy with so many rules, including one that allows us. */
async function policy(site: Site, rules: number): Promise<string> {
  const { id } = await site.world.make('/ip_policies')
  const all = [ourselves, ...Array.from({ length: rules - 1 }, (_, at) => elsewhere(at))]
  await site.makeAll(all.map(rule => ['/ip_policy_rules', { ip_policy_id: id, ...rule }] as const))
  return id
}

const circuit_breaker = {
  tripped_duration: 10,
  rolling_window: 10,
  num_buckets: 10,
  volume_threshold: 20,
  error_threshold_percentage: 0.5,
}

const modulesWith = (policyId: string) => ({
  ip_restriction: { ip_policy_ids: [policyId] },
  request_headers: {
    add: { 'x-from': '${.conn.client_ip}', 'x-edge': 'bench' },
    remove: ['x-internal'],
  },
  response_headers: {
    add: { 'x-request': '${.http.request_id}', 'strict-transport-security': 'max-age=31536000' },
    remove: ['server'],
  },
  circuit_breaker,
})

/** Signs in once, like a browser; returns the session cookies. */
async function sessionCookie(site: Site, path: string): Promise<string> {
  const browser = new EdgeBrowser(site.world)
  const url = `https://${HOST}:${site.addressOf(HOST).port}${path}`
  const page = await browser.signIn(url, 'anna')
  if (page.status !== 200) throw new Error(`signing in ended with ${page.status} at ${page.url}`)
  return browser.cookies(HOST)
}

/** The cost of modules: routes of one edge to one backend, with and without them. */
export async function* modules(site: Site): AsyncGenerator<Row> {
  const { world, group } = site
  const address = site.addressOf(HOST)
  await using provider = await OpenIdProvider.start(`https://idp.${DOMAIN}:${address.port}/oauth2/callback`)
  const oidc = { issuer: provider.issuer, client_id: 'adit', client_secret: secretText('openid client') }
  const [one, many] = [await policy(site, 1), await policy(site, RULES)]
  const routes = {
    bare: {},
    modules: modulesWith(one),
    session: { ...modulesWith(one), oidc },
    one: { ip_restriction: { ip_policy_ids: [one] } },
    many: { ip_restriction: { ip_policy_ids: [many] } },
  }
  const edge = await world.edge([HOST])
  for (const [name, fields] of Object.entries(routes))
    await world.route(edge, `/small/${name}`, group, fields)
  await site.answers(`${HOST}/small/bare`)
  const rated = (name: keyof typeof routes, headers: readonly string[] = []): Rated => ({
    site,
    address,
    path: `/small/${name}/`,
    headers,
  })
  const cookie = `Cookie: ${await sessionCookie(site, '/small/session')}`
  const runs = {
    bare: rated('bare'),
    modules: rated('modules'),
    session: rated('session', [cookie]),
    bareWithCookie: rated('bare', [cookie]),
    one: rated('one'),
    many: rated('many'),
  }
  const onAll = 'ip_restriction, headers, circuit_breaker'
  yield* compareRates(runs, [
    { name: `${onAll}, vs the bare route`, ours: 'modules', peer: 'bare', atLeast: 0.9 },
    {
      name: 'the same and a sign-in session, vs the bare route',
      ours: 'session',
      peer: 'bare',
      atLeast: 0.85,
    },
    { name: 'the same, vs the bare route with that cookie', ours: 'session', peer: 'bareWithCookie' },
    { name: `IP policy of ${RULES} rules, vs one rule`, ours: 'many', peer: 'one', atLeast: 0.95 },
  ])
}
