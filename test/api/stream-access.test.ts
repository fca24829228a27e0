import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserOf } from '../support/dashboard.ts'
import { createResource, onBothStores } from '../support/each-store.ts'
import { newMember } from '../support/members.ts'

type Headers = Record<string, string>
type Outcome = 'ended' | 'heartbeat'

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })

/** Resolves once the stream is open, with what happens to it first. */
async function opened(
  url: string,
  headers: Headers,
  signal: AbortSignal,
): Promise<{ first: Promise<Outcome> }> {
  const response = await fetch(url, { headers, signal })
  assert.equal(response.status, 200)
  const reader = response.body?.getReader()
  assert.ok(reader)
  await reader.read()
  const first = async (): Promise<Outcome> => {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      if (Buffer.from(next.value).includes(': heartbeat')) return 'heartbeat'
    return 'ended'
  }
  return { first: first() }
}

onBothStores('open streams', api => {
  /** The change ends all streams of the caller, before a heartbeat of a stream of another caller that is older. */
  async function assertEnded(headers: Headers, change: () => Promise<unknown>): Promise<void> {
    const abort = new AbortController()
    const open = (path: string, of: Headers) => opened(api().url + path, of, abort.signal)
    const other = await open('/requests/stream', bearer(api().token))
    const own = [await open('/requests/stream', headers), await open('/changes/stream', headers)]
    await change()
    const ended = Promise.all(own.map(({ first }) => first))
    assert.deepEqual(await Promise.race([ended, other.first]), ['ended', 'ended'])
    const closed = assert.rejects(other.first, { name: 'AbortError' })
    abort.abort()
    await closed
  }

  test('end at once when the role of their caller changes', async () => {
    const { token, user } = await newMember(api(), 'admin')
    await assertEnded(bearer(token), () => api().patch(`/users/${user.id}`, { role: 'member' }))
    await assertEnded(bearer(token), () => api().patch(`/users/${user.id}`, { role: 'admin' }))
  })

  test('end at once when their key is deleted, or its owner is made inactive', async () => {
    const [one, two] = [await newMember(api()), await newMember(api())]
    await assertEnded(bearer(one.token), () => api().delete(`/api_keys/${one.keyId}`))
    await assertEnded(bearer(two.token), () => api().patch(`/users/${two.user.id}`, { active: false }))
  })

  test('end at once when their dashboard session ends', async () => {
    const browser = await browserOf(api())
    await assertEnded({ cookie: browser.cookie }, () => browser.post('/dashboard/logout'))
  })

  test('end at once when the address of their client is no longer allowed', async () => {
    const { id: policy } = await createResource(api(), '/ip_policies')
    const anywhere = { cidr: '0.0.0.0/0', ip_policy_id: policy, action: 'allow' }
    await createResource(api(), '/ip_policy_rules', anywhere)
    await createResource(api(), '/ip_restrictions', {
      type: 'dashboard',
      enforced: true,
      ip_policy_ids: [policy],
    })
    const browser = await browserOf(api())
    const here = { cidr: '127.0.0.0/8', ip_policy_id: policy, action: 'deny' }
    await assertEnded({ cookie: browser.cookie }, () => createResource(api(), '/ip_policy_rules', here))
  })
})
