import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { ProviderServer } from '../../../auth/providers/provider-server.ts'
import { CLIENT } from '../../../auth/providers/provider-shapes.ts'
import { ann } from '../../../auth/providers/support.ts'
import { type EdgeResponse, World } from '../world.ts'
import { each } from './guarded-edge.ts'
import { head, readAnswer, sent, sentPlain, session, streamed } from './support.ts'

const HOST = 'a.example.test'
const SECOND = 'second.example.test'
const OTHER = 'b.example.test'
const HTML = { accept: 'text/html' }

/** Ways to write a place elsewhere behind the "/" of a path. */
const shapes = [
  '//HOST/',
  '///HOST/',
  '////HOST',
  '/\\HOST/',
  '/\\/HOST/',
  '/%2fHOST/',
  '/%2f%2fHOST/',
  '/%5cHOST/',
  '/%5c%5cHOST/',
  '/%09/HOST/',
  '/%0d%0aLocation:%20https://HOST/',
  '/.//HOST/',
  '/..//HOST/',
  '/x/..//HOST/',
  '/;//HOST/',
  '/@HOST/',
  '/.HOST/',
  '/:80@HOST/',
  '/?next=//HOST/',
  '/?redirect_uri=https://HOST/&state=x',
  '/#@HOST/',
  'https://HOST/',
]
const elsewhere = [
  'evil.test',
  'evil.test:443',
  `${HOST}.evil.test`,
  `${HOST}@evil.test`,
  '[::1]',
  '2130706433',
]
const targets = elsewhere.flatMap(host => shapes.map(shape => shape.replace('HOST', host)))

const cookiesIn = ({ headers }: EdgeResponse): string[] => [headers['set-cookie'] ?? []].flat()
const pairsOf = (lines: readonly string[]): string =>
  lines
    .filter(line => !/max-age=0/i.test(line))
    .map(line => line.split(';')[0])
    .join('; ')
const locationOf = ({ headers }: EdgeResponse): string => String(headers['location'] ?? '')
/** Without the port, which the clients of this test do not send. */
const asked = (url: string): string => {
  const { hostname, pathname, search } = new URL(url)
  return hostname + pathname + search
}

/** The paths of further routes with sign-in, at the same hosts. */
const forms = { 'one route': [], 'several routes': ['/admin', '/shop/'] } as const

for (const [form, others] of Object.entries(forms))
  suite(`signing in at an edge with sign-in at ${form}`, () => {
    let world: World
    let provider: ProviderServer
    let port = 0
    let seen: { url: string; cookie: string | undefined }[] = []

    before(async () => {
      provider = await ProviderServer.start('gitlab', ann)
      const application = `${CLIENT.id}:${CLIENT.secret}`
      world = await World.start({ oauth_gitlab_url: provider.url, oauth_gitlab: application })
      port = world.server.bound.https?.port ?? 0
      provider.callback = `https://idp.adit.localhost:${port}/oauth2/callback`
      const backend = await world.static(({ url = '', headers }, response) => {
        seen.push({ url, cookie: headers.cookie })
        response.end('in')
      })
      const oauth = { provider: { gitlab: { email_domains: ['example.test'] } } }
      for (const names of [[HOST, SECOND], [OTHER]]) {
        const edge = await world.edge(names)
        for (const match of ['/', ...others])
          await world.route(edge, match, backend, { oauth, normalize_path: false })
      }
    })
    after(async () => {
      await world[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    })

    const visit = (url: string, cookie = ''): Promise<EdgeResponse> =>
      world.ask(url, { headers: { ...HTML, ...(cookie && { cookie }) } })

    /** From a first answer through the provider to the last redirect. */
    async function through(begun: EdgeResponse, cookie = ''): Promise<EdgeResponse> {
      const back = await fetch(locationOf(begun), { redirect: 'manual' })
      await back.arrayBuffer()
      const central = await visit(asked(back.headers.get('location') ?? ''))
      const flow = pairsOf(cookiesIn(begun))
      return visit(asked(locationOf(central)), [cookie, flow].filter(Boolean).join('; '))
    }

    const signedIn = async (host: string): Promise<string> =>
      pairsOf(cookiesIn(await through(await visit(host))))

    const isTurnedAway = (got: EdgeResponse): boolean =>
      got.status === 302 && new URL(locationOf(got)).origin === provider.url

    test('SEC-16 redirects to the same origin and path, whatever the path is', async () => {
      assert.ok(targets.length >= 120)
      let done = 0
      await each(targets, async target => {
        if (!target.startsWith('/')) {
          assert.equal((await sent(world, HOST, head(target, HOST))).status, 400, target)
          return
        }
        const begun = await visit(HOST + target)
        if (begun.status === 400) return
        assert.ok(isTurnedAway(begun), `${target}: ${begun.status} ${locationOf(begun)}`)
        const last = await through(begun)
        assert.equal(last.status, 302, target)
        const location = locationOf(last)
        assert.equal(new URL(location).origin, `https://${HOST}:${port}`, target)
        assert.equal(location, new URL(`https://${HOST}:${port}${target}`).href)
        done++
      })
      assert.ok(done > 60, String(done))
    })

    test('SEC-16 over plain HTTP redirects to the same name over TLS', async () => {
      const plain = world.server.bound.http?.port ?? 0
      let moved = 0
      await each(targets, async target => {
        const { status, headers } = readAnswer(await sentPlain(plain, head(target, HOST)))
        if (status === 400) return
        assert.equal(status, 308, target)
        assert.equal(new URL(headers.get('location') ?? '').origin, `https://${HOST}:${port}`, target)
        moved++
      })
      assert.ok(moved > 60)
    })

    test('SEC-16 never redirects to a URL in a parameter of its own paths', async () => {
      const names = [
        'redirect',
        'redirect_uri',
        'return_to',
        'next',
        'rd',
        'url',
        'origin',
        'RelayState',
        'state',
      ]
      const cookie = await signedIn(HOST)
      for (const place of ['//evil.test/', 'https://evil.test/', 'javascript:alert(1)', '/\\evil.test']) {
        const query = names.map(name => `${name}=${encodeURIComponent(place)}`).join('&')
        const again = await visit(`${HOST}/auth/authn?${query}`, cookie)
        assert.ok(isTurnedAway(again))
        assert.equal(locationOf(await through(again, cookie)), `https://${HOST}:${port}/`)
        for (const url of [
          `${HOST}/auth/logout?${query}`,
          `${HOST}/.adit/signed-in?${query}`,
          `idp.adit.localhost/oauth2/callback?${query}`,
          `idp.adit.localhost/oauth2/callback/${query}`,
          `idp.adit.localhost//evil.test/`,
        ]) {
          const got = await visit(url)
          assert.equal(locationOf(got), '', url)
          assert.doesNotMatch(got.text, /evil\.test|javascript:/)
        }
      }
    })

    test('SEC-17 makes a cookie that stays at its host, and out of reach of scripts and services', async () => {
      const begun = await visit(HOST)
      const last = await through(begun)
      for (const line of [...cookiesIn(begun), ...cookiesIn(last)]) {
        assert.match(line, /^__Host-[^=;]+=/)
        for (const attribute of ['Secure', 'HttpOnly', 'SameSite=Lax', 'Path=/'])
          assert.ok(line.split('; ').includes(attribute), line)
        assert.doesNotMatch(line, /domain=/i)
      }
      const cookie = pairsOf(cookiesIn(last))
      seen = []
      const got = await visit(HOST, `x=1; ${cookie}; y=2`)
      assert.deepEqual([got.status, got.text], [200, 'in'])
      assert.deepEqual(seen, [{ url: '/', cookie: 'x=1; y=2' }])
    })

    test('SEC-17 is for one host of one edge: its cookie is rejected at others', async () => {
      const mine = await signedIn(HOST)
      assert.equal((await visit(HOST, mine)).text, 'in')
      seen = []
      for (const host of [OTHER, SECOND]) {
        assert.ok(isTurnedAway(await visit(host, mine)), host)
        const theirs = await signedIn(host)
        assert.equal((await visit(host, theirs)).text, 'in')
        seen = []
        assert.ok(isTurnedAway(await visit(HOST, theirs)), host)
        // Of two under one name the first counts, as everywhere.
        const renamed = theirs.slice(0, theirs.indexOf('=')) + mine.slice(mine.indexOf('='))
        assert.ok(isTurnedAway(await visit(host, renamed)), host)
        assert.ok(isTurnedAway(await visit(host, `${renamed}; ${theirs}`)), host)
      }
      using made = await session(world, OTHER)
      const pairs = { ':path': '/', ':authority': OTHER, accept: 'text/html', cookie: mine }
      assert.equal((await streamed(made, pairs)).status, 302)
      assert.deepEqual(seen, [])
    })

    test('SEC-17 rejects every modified cookie', async () => {
      const cookie = await signedIn(HOST)
      const equals = cookie.indexOf('=') + 1
      const [name, value] = [cookie.slice(0, equals), cookie.slice(equals)]
      seen = []
      const changed = Array.from({ length: 20 }, (_, at) => {
        const place = Math.floor((at * value.length) / 20)
        const letter = value[place] === 'A' ? 'B' : 'A'
        return value.slice(0, place) + letter + value.slice(place + 1)
      })
      for (const other of [...changed, '', value.slice(0, -1), `${value}A`, `1.${value}`, 'x'.repeat(3000)])
        assert.ok(isTurnedAway(await visit(HOST, name + other)), other)
      assert.deepEqual(seen, [])
      assert.equal((await visit(HOST, cookie)).text, 'in')
    })

    test('SEC-17 creates a new session, and ends the one of the request', async () => {
      const planted = await signedIn(HOST)
      const again = await visit(`${HOST}/auth/authn`, planted)
      const fresh = pairsOf(cookiesIn(await through(again, planted)))
      assert.notEqual(fresh, planted)
      assert.equal((await visit(HOST, fresh)).text, 'in')
      assert.ok(isTurnedAway(await visit(HOST, planted)))
    })

    test('SEC-15 cannot be finished by another browser, or twice', async () => {
      const begun = await visit(HOST)
      const back = await fetch(locationOf(begun), { redirect: 'manual' })
      const central = await visit(asked(back.headers.get('location') ?? ''))
      const end = asked(locationOf(central))
      assert.equal((await visit(end)).status, 400)
      assert.equal((await visit(end, pairsOf(cookiesIn(await visit(HOST))))).status, 400)
      const flow = pairsOf(cookiesIn(begun))
      assert.equal((await visit(end.replace(HOST, OTHER), flow)).status, 400)
      assert.equal((await visit(end, flow)).status, 302)
      assert.notEqual((await visit(end, flow)).status, 302)
    })
  })
