import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { connect } from '#agent/index.ts'
import { disposable, optionsFor, StatusLog } from '../agent/support.ts'
import { createResource } from '../support/each-store.ts'
import { newMember, type Member } from '../support/members.ts'
import { startServer, type TestServer } from '../support/server.ts'

suite('what a member has online', () => {
  let server: TestServer
  let owner: Member
  let colleague: Member
  before(async () => {
    server = await startServer()
    owner = await newMember(server.api)
    colleague = await newMember(server.api)
  })
  after(() => server[Symbol.asyncDispose]())

  for (const command of ['stop', 'restart', 'update'])
    test(`cannot be sent ${command} by a colleague, but by its owner and by admins`, async () => {
      const { api } = server
      const credential = await api.post('/credentials', {}, { token: owner.token })
      assert.equal(credential.status, 201, JSON.stringify(credential.body))
      const status = new StatusLog()
      await using _ = disposable(
        await connect({
          ...optionsFor(server),
          authtoken: credential.body.token,
          onStatus: status.onStatus,
          commands: { stop: () => undefined, restart: () => undefined, update: () => undefined },
        }),
      )
      const { tunnel_sessions: sessions } = (await api.get('/tunnel_sessions', { token: colleague.token }))
        .body
      const session = sessions.find(
        (each: { credential: { id: string } }) => each.credential.id === credential.body.id,
      )
      const path = `/tunnel_sessions/${session.id}/${command}`
      const refused = await api.post(path, undefined, { token: colleague.token })
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'ERR_ADIT_90251'])
      assert.equal((await api.get(`/tunnel_sessions/${session.id}`)).status, 200)
      assert.equal((await api.post(path, undefined, { token: owner.token })).status, 204)
    })

  test('is delivered again only by the owner of the subscription, or an admin', async () => {
    const { api } = server
    const ofOwner = { owner_id: owner.user.id }
    const destination = await createResource(api, '/event_destinations', {
      ...ofOwner,
      target: { debug: {} },
    })
    const subscription = await createResource(api, '/event_subscriptions', {
      ...ofOwner,
      sources: [{ type: 'ip_policy_created.v0' }],
      destination_ids: [destination.id],
    })
    const list = `/event_deliveries?subscription_id=${subscription.id}`
    let deliveries: { id: string }[] = []
    while (deliveries.length === 0) deliveries = (await api.get(list)).body.event_deliveries
    for (const path of [
      `/event_deliveries/${deliveries[0]?.id}/replay`,
      `/event_destinations/${destination.id}/test`,
    ]) {
      const refused = await api.post(path, undefined, { token: colleague.token })
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'ERR_ADIT_90251'], path)
      assert.equal((await api.post(path, undefined, { token: owner.token })).status, 204, path)
    }
  })
})
