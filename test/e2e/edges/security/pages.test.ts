import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, suite, test } from 'node:test'
import type { CatalogEntry } from '#base/catalog/entry.ts'
import { catalog } from '#base/catalog.ts'
import type { ErrorName } from '#base/errors.ts'
import { errorReply } from '#http/pages.ts'
import { hints } from '#base/hints/hints.ts'
import { ProviderServer } from '../../../auth/providers/provider-server.ts'
import { CLIENT } from '../../../auth/providers/provider-shapes.ts'
import { ann } from '../../../auth/providers/support.ts'
import { asked, contentOf } from '../../../http/pages/read-reply.ts'
import { type EdgeResponse, World } from '../world.ts'
import { secretText } from '../../../support/secrets.ts'
import { exchanged, head, readAnswer, secured, sent } from './support.ts'
import { until } from '../../../support/until.ts'

const HTML = 'text/html,application/xhtml+xml'
const CENTRAL = 'idp.adit.localhost'

/** Payloads that become part of a page, or run in it, where escaping was forgotten. */
const payloads = [
  '<script>alert(1)</script>',
  '</p></main><script>alert(1)</script>',
  '</title><svg/onload=alert(1)>',
  '</style><script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'><img src=x onerror=alert(1)>",
  '" autofocus onfocus="alert(1)',
  "' onmouseover='alert(1)",
  '<a href="javascript:alert(1)">x</a>',
  '<iframe srcdoc="&lt;script&gt;alert(1)&lt;/script&gt;">',
  '<meta http-equiv="refresh" content="0;url=https://evil.test">',
  '<base href="https://evil.test/">',
  '<form action="https://evil.test"><input name=password>',
  '<style>@import "https://evil.test/x"</style>',
  '<link rel=stylesheet href=//evil.test/x>',
  '<!--',
  ']]><x>',
  '&#60;script&#62;alert(1)&#60;/script&#62;',
  '&lt;script&gt;',
  '\\u003cscript\\u003e',
  '{{constructor.constructor("alert(1)")()}}',
  '${alert(1)}',
  '{host}{reason}{name}',
  '+ADw-script+AD4-alert(1)+ADw-/script+AD4-',
  '\u2028alert(1)\u2029',
  '\u202eevil',
  '<\u0000script>',
  'x'.repeat(5000),
]

const withoutStyle = (html: string): string => html.replace(/<style>[^<]*<\/style>/, '')
const tagsIn = (html: string): string[] => withoutStyle(html).match(/<[^>]*>/g) ?? []

/** Every tag that a page of ours has, from one with all its parts. */
const ownTags = new Set([
  ...tagsIn(contentOf(errorReply('endpoint_offline', asked('a.test', HTML)))),
  '<ul>',
  '<li>',
  '</a>',
  '</li>',
  '</ul>',
])

/** Links lead to paths of the gateway, with parameters that the gateway wrote: ids and sealed values. */
const OWN_LINK =
  /^<a href="(?:https:\/\/(?:in|closed)\.example\.test:\d+)?\/(?:auth|\.adit)\/[a-z-]+(?:\?[a-z]+=[\w-]+(?:&amp;[a-z]+=[\w-]+)*)?">$/

function assertHarmless(html: string, about: string): void {
  for (const tag of tagsIn(html)) assert.ok(ownTags.has(tag) || OWN_LINK.test(tag), `${about}: ${tag}`)
  const text = withoutStyle(html).replaceAll(/<[^>]*>/g, '')
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  assert.doesNotMatch(text, /[<>"']|[\x00-\x08\x0e-\x1f\u2028\u2029\u202e]/, about)
  assert.ok(html.length < 8000, `${about}: ${html.length}`)
}

/** A page that a browser would show, with nothing in it but what we put there. */
function assertPage({ headers, text }: EdgeResponse, about: string): void {
  const policy = String(headers['content-security-policy'])
  assert.match(
    policy,
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'/,
  )
  assert.doesNotMatch(policy, /unsafe|script-src|\*|https?:/)
  assert.equal(headers['content-type'], 'text/html; charset=utf-8', about)
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['cache-control'], 'no-store')
  assertHarmless(text, about)
}

suite('SEC-22 a page escapes external input', () => {
  for (const name of Object.keys(hints) as ErrorName[]) {
    const { text }: CatalogEntry = catalog[name]
    const places = [...text.matchAll(/\{(\w+)\}/g)].map(([, place]) => place ?? '')
    if (places.length === 0) continue
    test(`SEC-22 in every place of ${name}`, () => {
      for (const payload of payloads)
        for (const place of places) {
          const about = `${place} ${payload.slice(0, 30)}`
          const values = Object.fromEntries(places.map(each => [each, each === place ? payload : 'x']))
          const host = place === 'host' ? payload : 'a.test'
          assertHarmless(contentOf(errorReply(name, asked(host, HTML), values)), about)
          const { msg } = JSON.parse(contentOf(errorReply(name, asked(host, 'application/json'), values)))
          assert.equal(typeof msg, 'string')
        }
    })
  }
})

suite('SEC-22 a page that a client gets is safe', () => {
  const HOST = 'a.example.test'
  const SIGN_IN = 'in.example.test'
  const CLOSED = 'closed.example.test'
  let world: World
  let provider: ProviderServer

  before(async () => {
    provider = await ProviderServer.start('gitlab', ann)
    const application = `${CLIENT.id}:${CLIENT.secret}`
    world = await World.start({ oauth_gitlab_url: provider.url, oauth_gitlab: application })
    provider.callback = `https://${CENTRAL}:${world.server.bound.https?.port}/oauth2/callback`
    const policy = await world.make('/ip_policies', {})
    const edge = await world.edge([HOST])
    const closed = { ip_restriction: { ip_policy_ids: [policy.id] } }
    await world.route(edge, '/refused', await world.fixedResponse('in'), closed)
    await world.route(edge, '/agent', await world.fixedResponse('in'), {
      user_agent_filter: { deny: ['.*'] },
    })
    await world.route(edge, '/signed', await world.fixedResponse('in'), {
      webhook_verification: { provider: 'github', secret: secretText('webhook') },
    })
    for (const [name, domain] of [
      [SIGN_IN, 'example.test'],
      [CLOSED, 'nowhere.test'],
    ] as const)
      await world.route(await world.edge([name]), '/', await world.fixedResponse('in'), {
        oauth: { provider: { gitlab: { email_domains: [domain] } } },
      })
  })
  after(async () => {
    await world[Symbol.asyncDispose]()
    await provider[Symbol.asyncDispose]()
  })

  const visit = (url: string, headers: Record<string, string> = {}): Promise<EdgeResponse> =>
    world.ask(url, { headers: { accept: HTML, ...headers } })
  /** What a request line can carry as it is. */
  const sendable = payloads.map(payload => payload.replaceAll(/[^\x21-\x7e]|[#\\?/]/g, '').slice(0, 1000))

  test('SEC-22 whatever its path, query and fields are', async () => {
    for (const payload of sendable)
      for (const [url, statuses] of [
        [`unknown.test/${payload}`, [404, 400]],
        [`${HOST}/${payload}`, [404, 400]],
        [`${HOST}/refused/${payload}?${payload}`, [403, 400]],
        [`${HOST}/agent/${payload}?x=${payload}`, [403, 400]],
        [`${HOST}/signed/${payload}`, [403, 400]],
        [`${CENTRAL}/${payload}`, [404, 400]],
        [`${CENTRAL}/saml/${payload}`, [404, 400]],
        [`${CENTRAL}/saml/${payload}/acs?${payload}`, [404, 400]],
        [`${CENTRAL}/oauth2/callback?state=${payload}&error=${payload}`, [400]],
        [`${SIGN_IN}/auth/logout?next=${payload}`, [200]],
        [`${SIGN_IN}/.adit/signed-in?state=${payload}&error_description=${payload}`, [400]],
      ] as const) {
        const got = await visit(url, {
          referer: payload,
          cookie: `x=${payload}`,
          'user-agent': payload || 'x',
        })
        assert.ok((statuses as readonly number[]).includes(got.status), `${url}: ${got.status}`)
        assertPage(got, url)
      }
  })

  test('SEC-22 whatever its media type is', async () => {
    for (const accept of [
      ...sendable.map(each => `text/html,${each}`),
      'application/json',
      'image/png',
      '*/*',
    ]) {
      const got = await visit(`${CENTRAL}/saml/<script>alert(1)</script>`, { accept })
      const type = String(got.headers['content-type'])
      assert.match(type, /^(?:text\/html|application\/json|text\/plain); charset=utf-8$/)
      assert.equal(got.headers['x-content-type-options'], 'nosniff')
      if (type.startsWith('text/html')) assertHarmless(got.text, accept)
    }
  })

  test('SEC-22 when its request could not be parsed', async () => {
    for (const payload of payloads) {
      const bytes = Buffer.from(payload)
      for (const request of [
        head('/', bytes.toString('latin1'), `Accept: ${HTML}\r\n`),
        head(`/${bytes.toString('latin1')}\x01`, HOST, `Accept: ${HTML}\r\n`),
        head('/', HOST, `Accept: ${HTML}\r\n`, bytes.toString('latin1')),
        head('/', HOST, `${bytes.toString('latin1')}: x\r\nAccept: ${HTML}\r\n`),
      ]) {
        const answer = await sent(world, HOST, request)
        if (answer.status === 404) continue
        assert.ok([400, 414, 431, 505].includes(answer.status), String(answer.status))
        assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
        const isHtml = answer.headers.get('content-type')?.startsWith('text/html')
        if (isHtml === true) assertHarmless(answer.text, payload)
        else assert.doesNotMatch(answer.text, /<|>/)
      }
    }
    const port = world.server.bound.https?.port
    const plain = readAnswer(await exchanged(connect(port ?? 0, '127.0.0.1'), head('/<script>', '<script>')))
    assert.equal(plain.status, 400)
    assert.doesNotMatch(plain.text, /<script/)
    const socket = await secured(world, { servername: HOST })
    const odd = head('/', HOST, 'Transfer-Encoding: chunked\r\n', 'POST')
    const answer = readAnswer(await exchanged(socket, `${odd}0\r\nX-<b>: 1\r\n\r\n`))
    assert.doesNotMatch(answer.text, /<b>/)
  })

  /** Up to the provider, whose response the test scripts. */
  async function begun(host: string): Promise<{ state: string; cookie: string; to: string }> {
    const got = await visit(host)
    const to = String(got.headers['location'])
    const cookie = [got.headers['set-cookie'] ?? []].flat().map(line => line.split(';')[0])
    return { state: new URL(to).searchParams.get('state') ?? '', cookie: cookie.join('; '), to }
  }

  /** From the callback host to the endpoint. */
  async function finished(
    host: string,
    query: Record<string, string>,
    cookie: string,
  ): Promise<EdgeResponse> {
    const callback = `idp.adit.localhost/oauth2/callback?${new URLSearchParams(query).toString()}`
    const { pathname, search } = new URL(String((await visit(callback)).headers['location']))
    return visit(host + pathname + search, { cookie })
  }

  /** What an address can carry in its query. */
  const written = payloads.map(payload => payload.replaceAll('\0', '').slice(0, 1000))

  test('SEC-22 whatever the provider sends in the URL', async () => {
    for (const payload of written) {
      const { state, cookie } = await begun(SIGN_IN)
      const got = await finished(
        SIGN_IN,
        { state, error: payload, error_description: payload, error_uri: `javascript:${payload}` },
        cookie,
      )
      assert.equal(got.status, 403)
      assertPage(got, payload)
    }
  })

  test('SEC-22 whatever the provider answers to the gateway', async () => {
    const { token } = provider.shape.addresses('')
    for (const payload of written) {
      const body = { error: payload, error_description: payload }
      provider.instead.set(token, () => ({ status: 400, body }))
      const { state, cookie } = await begun(SIGN_IN)
      const got = await finished(SIGN_IN, { state, code: payload }, cookie)
      assert.ok(got.status === 403 || got.status === 502, String(got.status))
      assertPage(got, payload)
    }
    provider.instead.clear()
  })

  test('SEC-22 whatever the user is called at the provider', async () => {
    let shown = 0
    for (const payload of payloads) {
      provider.user = { ...ann, name: payload, login: payload, email: `${payload.slice(0, 60)}@example.test` }
      const { cookie, to } = await begun(CLOSED)
      const back = await fetch(to, { redirect: 'manual' })
      const answer = new URL(back.headers.get('location') ?? '').searchParams
      const got = await finished(CLOSED, Object.fromEntries(answer), cookie)
      assert.ok(got.status >= 400, String(got.status))
      assertPage(got, payload)
      if (got.text.includes('&lt;script&gt;')) shown++
    }
    assert.ok(shown > 0, 'no page shows the account')
    provider.user = ann
  })

  test('SEC-22 whatever the owner has configured', async () => {
    const edge = await world.edge(['owner.example.test'])
    const route = await world.route(edge, '/', await world.fixedResponse('in'))
    const module = `/edges/https/${edge}/routes/${route}/oidc`
    for (const payload of payloads) {
      const issuer = `https://issuer.test/${payload}`.slice(0, 250)
      const { status } = await world.server.api.put(module, {
        issuer,
        client_id: payload,
        client_secret: secretText('oidc'),
      })
      if (status === 400) continue
      const got = await until(() => visit('owner.example.test'), { fits: each => each.status !== 200 })
      assert.ok(got.status >= 500, String(got.status))
      assertPage(got, payload)
    }
  })
})
