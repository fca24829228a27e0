import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { ssh } from '../ssh/support.ts'
import { newSshKey } from '../support/openssh.ts'
import { spawnServer } from '../support/server.ts'
import { Folder } from '../support/folder.ts'

/** Gives a row another id, also in references. */
function rename(dataDir: string, from: string, to: string): void {
  using database = new DatabaseSync(join(dataDir, 'adit.db'), { enableForeignKeyConstraints: false })
  const texts = [
    'UPDATE resource SET body = replace(body, ?, ?)',
    'UPDATE resource SET id = replace(id, ?, ?)',
    'UPDATE reference SET source = replace(source, ?, ?)',
    'UPDATE claim SET owner = replace(owner, ?, ?)',
    'UPDATE change SET id = replace(id, ?, ?)',
  ]
  for (const text of texts) database.prepare(text).run(from, to)
}

test('SSH credentials of an earlier release keep their ids, and new ones are sshcr_', async () => {
  using folder = new Folder()
  using keys = new Folder()
  const publicKey = await newSshKey(keys, 'id', 'ed25519')
  const first = await spawnServer(folder.path)
  const { body: made } = await first.api.post('/ssh_credentials', { public_key: publicKey })
  assert.match(made.id, /^sshcr_[0-9A-Za-z]{27}$/)
  await first.end('SIGTERM')
  const earlier: string = made.id.replace('sshcr_', 'cr_')
  rename(folder.path, made.id, earlier)

  const server = await spawnServer(folder.path)
  const { api, bound } = server
  try {
    assert.equal((await api.get(`/ssh_credentials/${earlier}`)).body.id, earlier)
    const { body: newer } = await api.post('/ssh_credentials', {
      public_key: await newSshKey(keys, 'other', 'ed25519'),
    })
    const list = await api.get('/ssh_credentials')
    assert.deepEqual(
      list.body.ssh_credentials.map(({ id }: { id: string }) => id),
      [newer.id, earlier],
    )
    const after = await api.get(`/ssh_credentials?before_id=${newer.id}`)
    assert.equal(after.body.ssh_credentials[0].id, earlier)
    assert.deepEqual((await api.get(`/ssh_credentials?before_id=${earlier}`)).body.ssh_credentials, [])
    const patched = await api.patch(`/ssh_credentials/${earlier}`, { description: 'old' })
    assert.equal(patched.body.description, 'old')

    await using client = ssh({
      port: bound.ssh?.port ?? 0,
      key: keys.file('id'),
      flags: ['-R', '80:127.0.0.1:1'],
      command: ['http'],
    })
    await client.waitForOutput(/-> -R/)
    const { body } = await api.get('/tunnel_sessions')
    assert.deepEqual(body.tunnel_sessions[0].credential, {
      id: earlier,
      uri: `${api.url}/ssh_credentials/${earlier}`,
    })
    client.child.kill('SIGTERM')
    await once(client.child, 'close')
    assert.equal((await api.delete(`/ssh_credentials/${earlier}`)).status, 204)
  } finally {
    await server.end('SIGTERM')
  }
})
