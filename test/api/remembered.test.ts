import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { newId } from '#base/ids.ts'
import { openSqlite } from '#store/sqlite.ts'
import { createResource, onEachStore } from '../support/each-store.ts'
import { startPostgres } from '../support/postgres.ts'
import { spawnServer, startServer } from '../support/server.ts'
import { newFolder } from '../support/folder.ts'

onEachStore('the first page of a list', api => {
  test('is the same while nothing changes, and another as soon as something does', async () => {
    const first = await createResource(api(), '/ip_policies', { description: 'a' })
    const ids = async () =>
      (await api().get('/ip_policies')).body.ip_policies.map((each: { id: string }) => each.id)
    assert.deepEqual(await ids(), [first.id])
    assert.deepEqual(await ids(), [first.id])
    const second = await createResource(api(), '/ip_policies')
    assert.deepEqual(await ids(), [second.id, first.id])
    await api().patch(`/ip_policies/${first.id}`, { description: 'b' })
    assert.equal((await api().get('/ip_policies')).body.ip_policies[1].description, 'b')
    await api().delete(`/ip_policies/${second.id}`)
    assert.deepEqual(await ids(), [first.id])
  })

  test('is not shown to a user who may not see it', async () => {
    const bot = await createResource(api(), '/bot_users', { name: 'b' })
    const { token } = await createResource(api(), '/api_keys', { owner_id: bot.id })
    for (let round = 0; round < 2; round++) {
      assert.equal((await api().get('/bot_users')).status, 200)
      assert.equal((await api().get('/bot_users', { token })).status, 403)
      const keys = (await api().get('/api_keys', { token })).body.keys
      assert.deepEqual(
        keys.map((key: { owner_id: string }) => key.owner_id),
        [bot.id],
      )
    }
  })

  test('carries the address under which each caller reached the API', async () => {
    const other = api().url.replace('127.0.0.1', 'localhost')
    for (const base of [api().url, other, api().url, other]) {
      const { body } = await api().get(`${base}/ip_policies`)
      assert.equal(body.uri, `${base}/ip_policies`)
      assert.equal(body.ip_policies[0].uri, `${base}/ip_policies/${body.ip_policies[0].id}`)
    }
  })
})

onEachStore('a response that is cached', api => {
  test('follows a change of a later page of a list', async () => {
    const [oldest, middle, newest] = [
      await createResource(api(), '/ip_policies', { description: 'oldest' }),
      await createResource(api(), '/ip_policies', { description: 'middle' }),
      await createResource(api(), '/ip_policies', { description: 'newest' }),
    ]
    const later = async () => {
      const { body } = await api().get(`/ip_policies?limit=2&before_id=${newest.id}`)
      return body.ip_policies.map((each: { description: string }) => each.description)
    }
    assert.deepEqual(await later(), ['middle', 'oldest'])
    assert.deepEqual(await later(), ['middle', 'oldest'])
    await api().patch(`/ip_policies/${oldest.id}`, { description: 'changed' })
    assert.deepEqual(await later(), ['middle', 'changed'])
    await api().delete(`/ip_policies/${middle.id}`)
    assert.deepEqual((await later())[0], 'changed')
  })

  test('follows a change of its resource, and ends with it', async () => {
    const { id } = await createResource(api(), '/ip_policies', { description: 'a' })
    const read = async () => api().get(`/ip_policies/${id}`)
    assert.equal((await read()).body.description, 'a')
    assert.equal((await read()).body.description, 'a')
    await api().patch(`/ip_policies/${id}`, { description: 'b' })
    assert.equal((await read()).body.description, 'b')
    await api().delete(`/ip_policies/${id}`)
    assert.equal((await read()).status, 404)
  })

  test('is not sent to a caller who may not read the resource', async () => {
    const bot = await createResource(api(), '/bot_users', { name: 'c' })
    const { token } = await createResource(api(), '/api_keys', { owner_id: bot.id })
    assert.equal((await api().get(`/bot_users/${bot.id}`)).status, 200)
    assert.equal((await api().get(`/bot_users/${bot.id}`, { token })).status, 403)
  })
})

suite('two servers on one database', () => {
  test("see each other's changes on the next call", async () => {
    const postgres = await startPostgres()
    try {
      const database_url = await postgres.newDatabase()
      const master_key = Buffer.alloc(32, 7).toString('base64')
      await using one = await startServer({ database_url, master_key })
      const second = await spawnServer(one.dataDir, {
        ADIT_DATABASE_URL: database_url,
        ADIT_MASTER_KEY: master_key,
      })
      try {
        const key = await createResource(one.api, '/api_keys')
        assert.equal((await second.api.get('/self', { token: key.token })).status, 200)
        assert.deepEqual((await second.api.get('/ip_policies')).body.ip_policies, [])
        const policy = await createResource(one.api, '/ip_policies')
        assert.equal((await second.api.get('/ip_policies')).body.ip_policies[0].id, policy.id)
        await one.api.delete(`/api_keys/${key.id}`)
        assert.equal((await second.api.get('/self', { token: key.token })).status, 401)
      } finally {
        await second.end('SIGTERM')
      }
    } finally {
      await postgres.stop()
    }
  })
})

suite('a row of another release', () => {
  test('is shown with every field of this one', async () => {
    const dataDir = newFolder()
    await (await spawnServer(dataDir)).end('SIGTERM')
    const id = newId('ipp')
    {
      await using store = await openSqlite(join(dataDir, 'adit.db'))
      const body = JSON.stringify({
        id,
        uri: 'older',
        created_at: '2026-01-01T00:00:00Z',
        description: 'old',
        gone: 1,
      })
      const row = { id, kind: 'ip_policy', parent: null, version: 1, body }
      assert.ok((await store.commit([{ op: 'insert', entry: { row, refs: [], claims: [] } }])).ok)
    }
    const server = await spawnServer(dataDir)
    const uri = `${server.api.url}/ip_policies/${id}`
    const expected = { id, uri, created_at: '2026-01-01T00:00:00Z', description: 'old', metadata: '' }
    assert.deepEqual((await server.api.get(`/ip_policies/${id}`)).body, expected)
    assert.deepEqual((await server.api.get('/ip_policies')).body.ip_policies, [expected])
    await server.api.patch(`/ip_policies/${id}`, { metadata: 'm' })
    assert.deepEqual((await server.api.get(`/ip_policies/${id}`)).body, { ...expected, metadata: 'm' })
    await server.end('SIGTERM')
  })
})
