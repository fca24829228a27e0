import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Browser, locationOf, ScriptedMethod, Site } from '../sign-in/support.ts'
import { ProviderServer } from './provider-server.ts'
import { ann, methodAt, names } from './support.ts'

const SHOP = 'https://shop.test/'
const EVIL = 'https://evil.test/'

suite('a code that was delivered to another endpoint', () => {
  // LinkedIn is the one without PKCE; the others must not depend on it either.
  for (const name of names)
    test(`is not redeemed at ${name}`, async () => {
      await using server = await ProviderServer.start(name, ann)
      const site = new Site()
      site.realmAt = (_, host) => (host === 'shop.test' ? 'shop' : 'evil')
      server.callback = 'https://idp.gate.test/oauth2/callback'
      const shop = site.handler(methodAt(server, name), {}, { id: 'shop' })
      // Its owner reads every code that the gateway sends to its provider.
      const hostile = new ScriptedMethod()
      const evil = site.handler(hostile, {}, { id: 'evil' })
      const [attacker, victim] = [new Browser(site, shop), new Browser(site, evil)]

      const begun = await attacker.go(SHOP)
      const link = new URL(locationOf(begun))
      const state = new URL(locationOf(await victim.go(EVIL))).searchParams.get('state') ?? ''
      link.searchParams.set('state', state)
      const consented = await fetch(link, { redirect: 'manual' })
      const callback = consented.headers.get('location') ?? ''
      const handed = locationOf(await victim.go(callback))
      assert.ok(handed.startsWith(EVIL))
      const atShop = await attacker.go(handed.replace(EVIL, SHOP))
      assert.deepEqual([atShop.head.status, atShop.refusal], [400, 'sign_in_state'])

      await victim.go(handed)
      const code = hostile.finished[0]?.parameters.get('code') ?? ''
      assert.notEqual(code, '')
      const brought = await attacker.go(attacker.callback(begun, `code=${encodeURIComponent(code)}`))
      const done = await attacker.go(locationOf(brought))
      assert.deepEqual([done.head.status, done.refusal], [400, 'sign_in_browser'])
      assert.ok(!server.asked.some(({ form }) => form.has('code')), 'the code was sent to the provider')
    })
})
