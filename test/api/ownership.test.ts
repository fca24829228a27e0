import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kinds } from '#contract/kinds/index.ts'
import { createResource, onEachStore } from '../support/each-store.ts'
import { newMember } from '../support/members.ts'
import { creatable, Seeds } from '../support/seeds.ts'
import { Caller } from '../support/server.ts'

const ownable = creatable.filter(name => 'owner_id' in kinds[name].shape && kinds[name].owned !== true)

onEachStore('the owner of a resource', api => {
  for (const collection of ownable) {
    test(`is the creator, for ${collection}, and stays when an admin changes it`, async () => {
      const member = await newMember(api())
      const own = new Seeds(new Caller(api().url, member.token))
      const created = await own.make(collection)
      assert.equal(created['owner_id'], member.user.id)
      const address = `${kinds[collection].path}/${String(created['id'])}`
      assert.equal((await api().patch(address, { metadata: 'm' })).body.owner_id, member.user.id)
      assert.equal((await api().get(address)).body.owner_id, member.user.id)
      const shared = await api().patch(address, { owner_id: null }, { token: member.token })
      assert.deepEqual([shared.status, 'owner_id' in shared.body], [200, false])
      assert.equal('owner_id' in (await api().get(address)).body, false)
      assert.equal((await api().patch(address, { owner_id: member.user.id })).body.owner_id, member.user.id)
    })
  }

  test('can be named by an admin only, and must exist', async () => {
    const [one, other] = [await newMember(api()), await newMember(api())]
    const given = await createResource(api(), '/ip_policies', { owner_id: one.user.id })
    assert.equal(given.owner_id, one.user.id)
    const refused = await api().post('/ip_policies', { owner_id: other.user.id }, { token: one.token })
    assert.deepEqual([refused.status, refused.body.error_code], [403, 'ERR_ADIT_630'])
    for (const id of ['usr_000000000000000000000000000', given.id, 'nonsense']) {
      const unknown = await api().post('/ip_policies', { owner_id: id })
      assert.deepEqual([unknown.status, unknown.body.error_code], [400, 'ERR_ADIT_634'], id)
    }
    const shared = await createResource(api(), '/ip_policies', { owner_id: null })
    assert.equal('owner_id' in shared, false)
  })

  test('may be removed; the resource stays', async () => {
    const member = await newMember(api())
    const policy = await createResource(api(), '/ip_policies', { owner_id: member.user.id })
    assert.equal((await api().delete(`/users/${member.user.id}`)).status, 204)
    const left = await api().get(`/ip_policies/${policy.id}`)
    assert.deepEqual([left.status, left.body.owner_id], [200, member.user.id])
    assert.equal((await api().patch(`/ip_policies/${policy.id}`, { description: 'kept' })).status, 200)
  })
})
