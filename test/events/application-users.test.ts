import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceBody } from '#contract/body.ts'
import { World } from '../e2e/edges/world.ts'
import { OpenIdProvider, EdgeBrowser } from '../auth/oidc/openid-provider.ts'
import { secretText } from '../support/secrets.ts'

interface Told {
  readonly type: string
  readonly object: ResourceBody
  readonly principal: ResourceBody
}

const HOST = 'app.example.test'
const DOMAIN = 'gate.test'

// No caller can create these: a sign-in does.
test('deletions of application users and sessions are events, of a user after its sessions', async () => {
  await using world = await World.start({ domain: DOMAIN })
  const port = world.server.bound.https?.port
  await using provider = await OpenIdProvider.start(`https://idp.${DOMAIN}:${port}/oauth2/callback`)
  const oidc = { issuer: provider.issuer, client_id: 'adit', client_secret: secretText('openid client') }
  await world.route(await world.edge([HOST]), '/', await world.fixedResponse('hello'), { oidc })
  for (let browser = 0; browser < 3; browser++)
    await new EdgeBrowser(world).signIn(`https://${HOST}:${port}/`, 'anna')

  const { api } = world.server
  const [user] = (await api.get('/app/users')).body.application_users as ResourceBody[]
  const sessions = (await api.get('/app/sessions')).body.application_sessions as ResourceBody[]
  const [first] = sessions
  assert.equal((await api.delete(`/app/sessions/${String(first?.['id'])}`)).status, 204)
  assert.equal((await api.delete(`/app/users/${String(user?.['id'])}`)).status, 204)

  const reported = ((await api.get('/audit_events?limit=4')).body.audit_events as Told[]).toReversed()
  const gone = (type: string, object: ResourceBody | undefined) => ({
    type: `application_${type}_deleted.v0`,
    object,
  })
  const [one, ...rest] = reported.map(({ type, object }) => ({ type, object }))
  assert.deepEqual(one, gone('session', first))
  assert.deepEqual(rest.pop(), gone('user', user))
  const byId = (left: { object?: ResourceBody | undefined }, right: { object?: ResourceBody | undefined }) =>
    String(left.object?.['id']).localeCompare(String(right.object?.['id']))
  const others = sessions.slice(1).map(session => gone('session', session))
  assert.deepEqual(rest.toSorted(byId), others.toSorted(byId))
  for (const { principal } of reported)
    assert.deepEqual([principal['subject'], principal['source']], ['admin@localhost', 'API'])
})
