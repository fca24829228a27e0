import assert from 'node:assert/strict'
import { Agent } from 'node:https'
import { after, before, suite, test } from 'node:test'
import type { EdgeResponse } from '../../e2e/edges/world.ts'
import { until } from '../../support/until.ts'
import type { EdgeBrowser } from '../oidc/openid-provider.ts'
import { ann } from '../providers/support.ts'
import { sharedKeys } from '../saml/support.ts'
import { HOST, locationOf, pairsOf, RoutesSite, seenIn, targetOf } from './routes-site.ts'

const keys = await sharedKeys()

suite('an edge whose routes have different sign-ins', () => {
  let site: RoutesSite
  before(async () => {
    site = await RoutesSite.start(keys)
  })
  after(() => site[Symbol.asyncDispose]())

  test('has a session for each, which the API shows with its route', async () => {
    await site.learn('/team')
    const surfer = site.browser()
    const users = new Map<string, string | undefined>()
    for (const path of ['/admin', '/shop', '/team', '/odd']) {
      const page = await surfer.signIn(`${site.url}${path}/page?x=1`, 'anna')
      assert.equal(page.url, `${site.url}${path}/page?x=1`, page.text)
      users.set(path, seenIn(page).user)
    }
    assert.deepEqual([...users.values()], ['anna', ann.id, 'u-1', 'anna'])
    for (const path of users.keys()) {
      surfer.path.length = 0
      await surfer.go(`${site.url}${path}/again`)
      assert.deepEqual(surfer.path, [`${HOST}${path}/again`])
      assert.equal(await site.sessionsAt(path), 1)
    }
    assert.ok((await site.sessions()).every(({ edge }) => edge.id === site.edge))
  })

  test('SEC-17 sends the cookies of no route to a service, and lets no service set them', async () => {
    const surfer = site.browser()
    for (const path of ['/admin', '/odd']) await surfer.signIn(site.url + path, 'anna')
    const mine = surfer
      .cookies(HOST)
      .split('; ')
      .filter(pair => pair.startsWith('__Host-'))
    assert.deepEqual(new Set(mine.map(pair => pair.split('.')[0])), new Set(['__Host-adit', '__Host-odd']))
    for (const path of ['/open', '/admin', '/odd']) {
      const got = await site.visit(path, ['x=1', ...mine, '__Host-adit.flow.1=f', 'y=2'].join('; '))
      assert.equal(got.status, 200)
      assert.equal(seenIn(got).cookie, 'x=1; y=2', path)
      assert.deepEqual([got.headers['set-cookie']].flat(), ['a=1'], path)
    }
  })

  test('SEC-17 checks the session of each request that a connection repeats', async () => {
    const surfer = site.browser()
    for (const path of ['/admin', '/odd']) await surfer.signIn(site.url + path, 'anna')
    const cookie = surfer.cookies(HOST)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const users = async (): Promise<(string | undefined)[]> => {
      const all: (string | undefined)[] = []
      for (const path of ['/admin', '/open', '/odd', '/shop', '/team', '/any', '/admin', '/open']) {
        const got = await site.visit(path, cookie, agent)
        all.push(got.status === 200 ? (seenIn(got).user ?? 'nobody') : String(got.status))
        if (got.status === 200) assert.ok(!seenIn(got).cookie?.includes('session'), path)
      }
      return all
    }
    const both = ['anna', 'nobody', 'anna', '302', '302', '302', 'anna', 'nobody']
    for (let at = 0; at < 3; at++) assert.deepEqual(await users(), both)
    await surfer.go(`${site.url}/auth/logout?route=${site.idOf('/admin')}`)
    assert.deepEqual(await users(), ['302', 'nobody', 'anna', '302', '302', '302', '302', 'nobody'])
    assert.equal(Object.values(agent.freeSockets).flat().length, 1)
    agent.destroy()
  })

  test('SEC-17 rejects the session of one route at another, under any name', async () => {
    const pairOf = (surfer: EdgeBrowser): [name: string, value: string] => {
      const [, name = '', value = ''] = /(__Host-[\w.]+session-\w+)=([^;]+)/.exec(surfer.cookies(HOST)) ?? []
      return [name, value]
    }
    const [anna, bob] = [site.browser(), site.browser()]
    await anna.signIn(`${site.url}/admin`, 'anna')
    await bob.signIn(`${site.url}/odd`, 'bob')
    const [[name, value], [oddName, oddValue]] = [pairOf(anna), pairOf(bob)]
    assert.equal((await site.visit('/admin', `${name}=${value}`)).status, 200)
    for (const [target, cookie] of [
      ['/odd', `${name}=${value}`],
      ['/odd', `${oddName}=${value}`],
      ['/admin', `${name}=${oddValue}`],
      ['/any', `${name}=${value}`],
      ['/shop', `${name}=${value}`],
    ] as const)
      assert.equal((await site.visit(target, cookie)).status, 302, target)
  })

  test('SEC-15 rejects the response to a sign-in of one route at another, and changes nothing', async () => {
    const count = (await site.sessions()).length
    const begun = await site.visit('/shop')
    const target = await site.returned(begun)
    const named = `route=${site.idOf('/shop')}&`
    assert.ok(target.startsWith(`/.adit/signed-in?${named}answer=`), target)
    for (const other of [`route=${site.idOf('/any')}&`, `route=${site.idOf('/admin')}&`, 'route=x&', '']) {
      const got = await site.visit(target.replace(named, other), pairsOf(begun))
      assert.deepEqual([got.status, got.code], [400, 'ERR_ADIT_3106'], other)
    }
    // Another browser cannot be made to sign in with it.
    assert.equal((await site.visit(target)).code, 'ERR_ADIT_3107')
    assert.equal((await site.sessions()).length, count)
    assert.equal((await site.visit(target, pairsOf(begun))).status, 302)
  })

  test('SEC-15 rejects a code that another route requested, also at the same provider', async () => {
    const [admin, odd, shop] = [
      await site.visit('/admin'),
      await site.visit('/odd'),
      await site.visit('/shop'),
    ]
    const cookie = [admin, odd, shop].map(pairsOf).join('; ')
    const count = (await site.sessions()).length
    const mixed: readonly [asked: EdgeResponse, other: EdgeResponse][] = [
      [odd, admin],
      [admin, shop],
    ]
    for (const [asked, other] of mixed) {
      const url = locationOf(asked)
      url.searchParams.set('state', locationOf(other).searchParams.get('state') ?? '')
      const page = await site.browser().signIn(url.href, 'anna')
      // The browser that has both flows brings it.
      const got = await site.visit(targetOf(new URL(page.url)), cookie)
      assert.ok(got.status >= 400, `${got.status} ${got.code}`)
    }
    assert.equal((await site.sessions()).length, count)
  })

  test('signs in at two routes in two tabs at once', async () => {
    const surfer = site.browser()
    const first = await surfer.go(`${site.url}/admin/one`)
    const second = await surfer.signIn(`${site.url}/shop/two`, 'anna')
    assert.equal(second.url, `${site.url}/shop/two`)
    const done = await surfer.finish(first, 'anna')
    assert.equal(done.url, `${site.url}/admin/one`)
    assert.equal((await surfer.go(`${site.url}/shop`)).url, `${site.url}/shop`)
  })

  test('signs out of the named route only', async () => {
    const surfer = site.browser()
    for (const path of ['/admin', '/odd']) await surfer.signIn(site.url + path, 'anna')
    const count = (await site.sessions()).length
    for (const query of ['', `?route=${site.idOf('/open')}`, '?route=edghtsrt_x']) {
      const got = await surfer.go(`${site.url}/auth/logout${query}`)
      assert.deepEqual([got.status, got.code], [400, 'ERR_ADIT_90490'], query)
    }
    assert.equal((await site.sessions()).length, count)
    const out = await surfer.go(`${site.url}/auth/logout?route=${site.idOf('/odd')}`)
    assert.deepEqual([...site.linksIn(out).values()], [`${site.url}/auth/authn?route=${site.idOf('/odd')}`])
    assert.equal((await site.visit('/odd', surfer.cookies(HOST))).status, 302)
    assert.equal((await site.visit('/admin', surfer.cookies(HOST))).status, 200)
    assert.equal((await site.sessions()).length, count - 1)
  })

  test('SEC-15 does not finish a sign-in whose module was replaced, and ends its sessions', async () => {
    const { world, edge, modules, openid, gitlab } = site
    const route = await world.route(edge, '/changing', await world.fixedResponse('in'), {
      oauth: modules.oauth,
    })
    const leadsTo = (origin: string): Promise<EdgeResponse> =>
      until(() => site.visit('/changing'), {
        fits: got => got.status === 302 && locationOf(got).origin === origin,
      })
    await leadsTo(gitlab.url)
    const surfer = site.browser()
    assert.equal((await surfer.signIn(`${site.url}/changing`, 'ann')).text, 'in')
    const begun = await site.visit('/changing')
    const target = await site.returned(begun)
    const count = (await site.sessions()).length
    const path = `/edges/https/${edge}/routes/${route}`
    await world.change(path, { oidc: modules.oidc })
    assert.equal((await world.server.api.delete(`${path}/oauth`)).status, 204)
    await leadsTo(openid.issuer)
    const got = await site.visit(target, pairsOf(begun))
    assert.deepEqual([got.status, got.code], [400, 'ERR_ADIT_3120'])
    assert.equal((await site.sessions()).length, count)
    assert.equal((await site.visit('/changing', surfer.cookies(HOST))).status, 302)
  })

  test("SEC-15 hands nothing to another user's edge", async () => {
    const { world, modules } = site
    const other = await world.edge(['other.example.test'])
    const theirs = await world.route(other, '/', await world.fixedResponse('theirs'), {
      oauth: modules.oauth,
    })
    const begun = await until(() => site.visit('/shop'), { fits: ({ status }) => status === 302 })
    const target = await site.returned(begun)
    for (const route of [site.idOf('/shop'), theirs]) {
      const url = `other.example.test${target.replace(site.idOf('/shop'), route)}`
      const got = await world.ask(url, { headers: { cookie: pairsOf(begun), accept: 'text/html' } })
      assert.deepEqual([got.status, got.code], [400, 'ERR_ADIT_3106'])
    }
    const out = await site.visit(`/auth/logout?route=${theirs}`)
    assert.deepEqual([out.status, out.code], [400, 'ERR_ADIT_90490'])
  })
})
