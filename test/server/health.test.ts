import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { startPostgres } from '../support/postgres.ts'
import { startServer } from '../support/server.ts'
import { secretText } from '../support/secrets.ts'
import { start } from './program.ts'
import { Folder } from '../support/folder.ts'

suite('health', () => {
  test('is served without a key', async () => {
    using folder = new Folder()
    await using program = await start({ ADIT_DATA_DIR: folder.path })
    for (const path of ['/healthz', '/readyz']) {
      assert.equal((await program.caller().get(path, { token: null })).status, 200, path)
    }
  })

  test('distinguishes a lost database from a lost process, and reports its recovery', async () => {
    using folder = new Folder()
    const postgres = await startPostgres()
    try {
      const database = await postgres.newDatabase()
      await using program = await start({ ADIT_DATA_DIR: folder.path, ADIT_DATABASE_URL: database })
      const api = program.caller()
      const statuses = async () => [(await api.get('/healthz')).status, (await api.get('/readyz')).status]
      assert.deepEqual(await statuses(), [200, 200])
      await postgres.crash()
      assert.deepEqual(await statuses(), [200, 503])
      await postgres.restart()
      assert.deepEqual(await statuses(), [200, 200])
    } finally {
      await postgres.stop()
    }
  })
})

/** Every address of our own anywhere in an answer. */
function uris(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) =>
    key.endsWith('uri') && typeof item === 'string' ? [item] : uris(item),
  )
}

test('a public address is in every uri', async () => {
  const publicUrl = 'https://api.example.com/adit'
  await using server = await startServer({ api_url: publicUrl })
  const { api } = server
  const policies = [await api.post('/ip_policies'), await api.post('/ip_policies')]
  const [policy] = policies.map(({ body }) => body.id as string)
  const rule = await api.post('/ip_policy_rules', {
    cidr: '10.0.0.0/8',
    ip_policy_id: policy,
    action: 'allow',
  })
  const edge = await api.post('/edges/https')
  const route = await api.post(`/edges/https/${edge.body.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    ip_restriction: { ip_policy_ids: [policy] },
  })
  const [page, again] = [await api.get('/ip_policies?limit=1'), await api.get(`/edges/https/${edge.body.id}`)]
  const answers = [rule, edge, route, page, again, await api.get('/')]
  for (const { status, body } of answers) {
    assert.ok(status < 300, JSON.stringify(body))
    const found = uris(body)
    assert.ok(found.length > 0, JSON.stringify(body))
    for (const uri of found) assert.ok(uri.startsWith(`${publicUrl}/`), uri)
  }
})

test('no secret is ever logged, even at the level debug', async () => {
  using folder = new Folder()
  const postgres = await startPostgres()
  try {
    const database = (await postgres.newDatabase()).replace(
      'postgres@',
      `postgres:${secretText('password')}@`,
    )
    await using program = await start({
      ADIT_DATA_DIR: folder.path,
      ADIT_DATABASE_URL: database,
      ADIT_LOG_LEVEL: 'debug',
    })
    const api = program.caller()
    const made = await api.post('/api_keys', { description: 'another' })
    await api.get('/self', { token: secretText('wrong token') })
    await api.post('/ip_policies', '{"broken')
    await api.post('/event_destinations', { target: {} })
    await postgres.crash()
    assert.equal((await api.post('/api_keys', {})).status, 503)
    assert.equal(await program.end(), 0)
    assert.match(program.stderr, /"level":"error"/)

    const kept = ['api-key', 'authtoken', 'master.key'].map(name =>
      readFileSync(join(folder.path, name), 'utf8'),
    )
    const secrets = [...kept, String(made.body.token), secretText('wrong token'), secretText('password')].map(
      text => text.trim(),
    )
    for (const secret of secrets) {
      assert.ok(secret.length > 5)
      assert.ok(!program.stderr.includes(secret), program.stderr)
    }
  } finally {
    await postgres.stop()
  }
})
