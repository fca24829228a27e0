import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createResource, onEachStore } from '../support/each-store.ts'

/** What would change or reveal rows in a statement that is put together from texts. */
const statements = [
  `'; DELETE FROM resource; --`,
  `' OR '1'='1`,
  `" OR ""="`,
  `\\'; DROP TABLE resource; --`,
  `x' UNION SELECT body FROM resource --`,
  `$1; SELECT pg_sleep(9); --`,
]

onEachStore('text from callers', api => {
  test('SEC-injection: is never a part of a statement of the database', async () => {
    const kept = await createResource(api(), '/ip_policies', { description: 'kept' })
    for (const statement of statements) {
      const made = await createResource(api(), '/ip_policies', {
        description: statement,
        metadata: statement,
      })
      const { body } = await api().get(`/ip_policies/${made.id}`)
      assert.deepEqual([body.description, body.metadata], [statement, statement])
      const filter = encodeURIComponent(`obj.description == ${JSON.stringify(statement)}`)
      const found = (await api().get(`/ip_policies?filter=${filter}`)).body.ip_policies
      assert.deepEqual(
        found.map(({ id }: { id: string }) => id),
        [made.id],
      )
      const encoded = encodeURIComponent(statement)
      assert.equal((await api().get(`/ip_policies/${encoded}`)).status, 404)
      assert.equal((await api().delete(`/ip_policies/${encoded}`)).status, 404)
      for (const query of [`before_id=${encoded}`, `limit=${encoded}`])
        assert.ok([200, 400].includes((await api().get(`/ip_policies?${query}`)).status), query)
      const changes = (await api().get(`/audit_events?principal=${encoded}`)).body.audit_events
      assert.deepEqual(changes, [])
    }
    assert.equal((await api().get(`/ip_policies/${kept.id}`)).body.description, 'kept')
  })
})
