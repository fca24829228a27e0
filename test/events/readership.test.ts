import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { eventTypes } from '#contract/events/index.ts'
import { createResource } from '../support/each-store.ts'
import { newMember, type Member } from '../support/members.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { Receiver } from './support.ts'

/** What only admins may read through the API. */
const ADMIN_TYPE = /^(user|bot_user|service_user|ip_restriction)_/

suite('a subscription of a member', () => {
  let server: TestServer
  let member: Member
  let destination: { readonly id: string }
  before(async () => {
    server = await startServer({ egress_allow: '127.0.0.0/8' })
    member = await newMember(server.api)
    destination = await newDestination({ debug: {} })
  })
  after(() => server[Symbol.asyncDispose]())

  const newDestination = async (target: object): Promise<{ readonly id: string }> =>
    (await server.api.post('/event_destinations', { target }, { token: member.token })).body

  const subscribe = (types: readonly string[], { id } = destination) =>
    server.api.post(
      '/event_subscriptions',
      { sources: types.map(type => ({ type })), destination_ids: [id] },
      { token: member.token },
    )

  for (const type of eventTypes)
    test(`can${ADMIN_TYPE.test(type) ? 'not' : ''} name ${type}`, async () => {
      const answer = await subscribe([type])
      if (!ADMIN_TYPE.test(type)) return assert.equal(answer.status, 201)
      assert.deepEqual([answer.status, answer.body.error_code], [403, 'ERR_ADIT_90255'])
      const own = await subscribe(['ip_policy_created.v0'])
      const sources = `/event_subscriptions/${own.body.id}/sources`
      const added = await server.api.post(sources, { type }, { token: member.token })
      assert.deepEqual([added.status, added.body.error_code], [403, 'ERR_ADIT_90255'])
      const changed = await server.api.patch(
        `/event_subscriptions/${own.body.id}`,
        { sources: [{ type }] },
        { token: member.token },
      )
      assert.deepEqual([changed.status, changed.body.error_code], [403, 'ERR_ADIT_90255'])
      assert.equal((await server.api.get(sources)).body.sources.length, 1)
    })

  test('gets keys and credentials only of its owner, and nothing that an admin adds to it', async () => {
    const types = ['api_key_created.v0', 'tunnel_credential_created.v0', 'ip_policy_created.v0']
    await using receiver = await Receiver.start()
    const webhook = { url: receiver.url, batch_size: 10 }
    const subscription = await subscribe(types, await newDestination({ webhook }))
    const sources = [...types, 'user_created.v0'].map(type => ({ type }))
    const path = `/event_subscriptions/${subscription.body.id}`
    assert.equal((await server.api.patch(path, { sources })).status, 200)
    const hidden = [
      await createResource(server.api, '/api_keys', { description: 'of the admin' }),
      await createResource(server.api, '/credentials', { description: 'of the admin' }),
      await createResource(server.api, '/users', { email: 'hidden@example.com' }),
    ]
    const own = (await server.api.post('/api_keys', {}, { token: member.token })).body
    // Events leave in order: when this one is there, those before it were looked at.
    const last = await createResource(server.api, '/ip_policies')
    const has = (id: string): boolean => receiver.events.some(({ object }) => object.id === id)
    await receiver.until(() => has(last.id))
    assert.equal(has(own.id), true)
    for (const { id } of hidden) assert.equal(has(id), false, id)
  })
})
