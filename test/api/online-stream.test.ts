import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { OnlineFeed } from '#api/streams/online-feed.ts'
import { newId } from '#base/ids.ts'
import { ApiError } from '#client/errors.ts'
import type { Change } from '#contract/streams.ts'
import { signIn } from '../agent/support.ts'
import { createResource } from '../support/each-store.ts'
import { FollowedChanges } from '../support/followed-changes.ts'
import { newMember } from '../support/members.ts'
import { startPostgres } from '../support/postgres.ts'
import { startServer, type Caller } from '../support/server.ts'

const ids = async (api: Caller, name: string): Promise<string[]> =>
  ((await api.get(`/${name}`)).body[name] as { id: string }[]).map(({ id }) => id)

suite('what is online, in GET /changes/stream', () => {
  for (const [store, workers] of [
    ['sqlite', '1'],
    ['sqlite', '2'],
    ['postgres', '1'],
    ['postgres', '2'],
  ] as const)
    test(`is reported as it goes online and offline (${store}, workers: ${workers})`, async context => {
      const postgres = store === 'postgres' ? await startPostgres() : undefined
      context.after(() => postgres?.stop())
      const url = await postgres?.newDatabase()
      await using server = await startServer({ workers, ...(url !== undefined && { database_url: url }) })
      const { api } = server
      const member = await newMember(api)
      await using all = await FollowedChanges.open(api)
      await using ofMember = await FollowedChanges.open({ url: api.url, token: member.token })
      await using endpoints = await FollowedChanges.open(api, { kind: 'endpoint' })
      const agent = await signIn(server)
      const tunnel = await agent.listen({ forwardTo: 1, proto: 'http' })
      const online = await Promise.all(
        ['tunnel_sessions', 'tunnels', 'endpoints'].map(name => ids(api, name)),
      )
      const [session = '', opened = '', endpoint = ''] = online.flat()
      await all.until(seen => seen.some(({ id, change }) => id === endpoint && change === 'created'))
      await tunnel.close()
      await all.lifeOf(opened)
      await agent.close()
      for (const followed of [all, ofMember]) {
        assert.deepEqual(await followed.lifeOf(session), ['tunnel_session created', 'tunnel_session deleted'])
        assert.deepEqual(await followed.lifeOf(opened), ['tunnel created', 'tunnel deleted'])
        assert.deepEqual(await followed.lifeOf(endpoint), ['endpoint created', 'endpoint deleted'])
      }
      await endpoints.lifeOf(endpoint)
      assert.deepEqual(new Set(endpoints.seen.map(({ kind }) => kind)), new Set(['endpoint']))
    })

  test('has the endpoints of edges', async () => {
    await using server = await startServer()
    const { api } = server
    await createResource(api, '/reserved_domains', { name: 'edge.example.test' })
    await using followed = await FollowedChanges.open(api, { kind: 'endpoint' })
    const edge = await createResource(api, '/edges/https', { hostports: ['edge.example.test:443'] })
    const [endpoint = ''] = await ids(api, 'endpoints')
    await followed.until(seen => seen.length === 1)
    await api.delete(`/edges/https/${edge.id}`)
    assert.deepEqual(await followed.lifeOf(endpoint), ['endpoint created', 'endpoint deleted'])
  })

  test('is not reported to callers without a key, and no longer to those whose key is deleted', async () => {
    await using server = await startServer()
    const { api } = server
    await assert.rejects(
      FollowedChanges.open({ url: api.url, token: 'wrong' }),
      (error: unknown) => error instanceof ApiError && error.status === 401,
    )
    const member = await newMember(api)
    const followed = await FollowedChanges.open({ url: api.url, token: member.token })
    await api.delete(`/api_keys/${member.keyId}`)
    await followed.ended
    await using agent = await signIn(server)
    await agent.listen({ forwardTo: 1, proto: 'http' })
    assert.deepEqual(
      followed.seen.map(({ kind }) => kind).filter(kind => kind !== 'api_key'),
      [],
    )
  })
})

suite('the feed of what is online', () => {
  /** A feed with one listener, and what happens next. */
  function startFeed() {
    const changed = new Set<(change: Change) => void>()
    const feed = new OnlineFeed({
      watchOnline: seen => {
        changed.add(seen)
        return () => changed.delete(seen)
      },
    })
    const sent = Promise.withResolvers<void>()
    const changes: Change[] = []
    const dropped = new Map<string, number>()
    const stop = feed.listen({
      changed: change => {
        changes.push(change)
        sent.resolve()
      },
      dropped: (kind, count) => dropped.set(kind, (dropped.get(kind) ?? 0) + count),
    })
    const emit = (kind: string, id: string, change: Change['change']): void =>
      changed.forEach(seen => seen({ kind, id, change }))
    return { emit, changes, dropped, sent: sent.promise, stop, watchers: changed }
  }

  test('sends ten thousand agents that reconnect as a bounded number of messages', async () => {
    const { emit, changes, dropped, sent, stop } = startFeed()
    const sessions = Array.from({ length: 10_000 }, () => newId('ts'))
    for (const id of sessions) emit('tunnel_session', id, 'deleted')
    for (const id of sessions) emit('tunnel_session', id, 'created')
    await sent
    assert.equal(changes.length, 200)
    assert.deepEqual(new Set(changes.map(({ change }) => change)), new Set(['updated']))
    assert.deepEqual([...dropped], [['tunnel_session', 2 * (10_000 - 200)]])
    stop()
  })

  test('sends what has become of a resource', async () => {
    const { emit, changes, sent, stop } = startFeed()
    emit('tunnel', 'tn_brief', 'created')
    emit('tunnel', 'tn_brief', 'deleted')
    emit('tunnel', 'tn_new', 'created')
    emit('tunnel', 'tn_new', 'updated')
    emit('tunnel', 'tn_gone', 'updated')
    emit('tunnel', 'tn_gone', 'deleted')
    await sent
    assert.deepEqual(
      changes.map(({ id, change }) => `${id} ${change}`),
      ['tn_new created', 'tn_gone deleted'],
    )
    stop()
  })

  test('follows nothing while there are no listeners', async () => {
    const { emit, changes, stop, watchers } = startFeed()
    emit('tunnel', 'tn_a', 'created')
    stop()
    assert.equal(watchers.size, 0)
    assert.deepEqual(changes, [])
  })
})
