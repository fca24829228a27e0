import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { runAdit, spawnServer, startServer, type Caller } from '../support/server.ts'
import { secretText } from '../support/secrets.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

const backUp = (dataDir: string, file: string, more: Record<string, string> = {}) =>
  runAdit(['backup', file], { ADIT_DATA_DIR: dataDir, ...more })
const restore = (file: string, dataDir: string) => runAdit(['restore', file, '--data-dir', dataDir])

/** Makes policies one after another until it is stopped; answers what the server has acknowledged. */
function startWriting(api: Caller) {
  const acknowledged: string[] = []
  let isStopped = false
  const work = (async () => {
    while (!isStopped) {
      const { status, body } = await api.post('/ip_policies', {
        description: `number ${acknowledged.length}`,
      })
      assert.equal(status, 201)
      acknowledged.push(body.id)
    }
  })()
  return {
    acknowledged,
    reached: async (count: number): Promise<void> => {
      await until(() => acknowledged.length >= count)
    },
    stop: async () => {
      isStopped = true
      await work
    },
  }
}

const SECRET = secretText('what only the owner knows')

suite('a backup', () => {
  test('made while the server writes has all that was acknowledged, and a server starts from it', async context => {
    using at = new Folder()
    const first = await spawnServer(at.file('data'))
    context.after(() => first.child.kill('SIGKILL'))
    const edge = await first.api.post('/edges/https', {})
    const route = await first.api.post(`/edges/https/${edge.body.id}/routes`, {
      match_type: 'path_prefix',
      match: '/',
    })
    const module = `/edges/https/${edge.body.id}/routes/${route.body.id}/oidc`
    const oidc = { issuer: 'https://id.example.com', client_id: 'adit', client_secret: SECRET }
    assert.equal((await first.api.put(module, oidc)).status, 200)

    const writers = [startWriting(first.api), startWriting(first.api)]
    await Promise.all(writers.map(writer => writer.reached(50)))
    const before = writers.flatMap(({ acknowledged }) => [...acknowledged])
    const done = await backUp(at.file('data'), at.file('backup.tar'))
    const during = writers.flatMap(({ acknowledged }) => acknowledged).length
    await Promise.all(writers.map(writer => writer.stop()))
    assert.equal(await first.end('SIGTERM'), 0)
    assert.deepEqual([done.code, done.stderr], [0, ''])
    assert.ok(during > before.length, 'it was written to while it was copied')

    const put = await restore(at.file('backup.tar'), at.file('restored'))
    assert.deepEqual([put.code, put.stderr], [0, ''])
    const second = await spawnServer(at.file('restored'))
    context.after(() => second.child.kill('SIGKILL'))
    for (const id of before) assert.equal((await second.api.get(`/ip_policies/${id}`)).status, 200, id)
    assert.equal((await second.api.get(module)).body.client_secret, SECRET)
    assert.equal((await second.api.post('/ip_policies')).status, 201)
    const same = (name: string) =>
      readFileSync(at.file(`data/${name}`)).equals(readFileSync(at.file(`restored/${name}`)))
    for (const name of ['master.key', 'ca.pem', 'api-key', 'authtoken']) assert.ok(same(name), name)
    assert.equal(await second.end('SIGTERM'), 0)
  })

  test('has every file of the data folder that is not of the running process, and is readable by its owner alone', async () => {
    using at = new Folder()
    await using server = await startServer()
    assert.equal((await backUp(server.dataDir, at.file('b.tar'))).code, 0)
    assert.equal(statSync(at.file('b.tar')).mode & 0o777, 0o600)
    const inside = execFileSync('tar', ['tf', at.file('b.tar')], { encoding: 'utf8' })
      .trim()
      .split('\n')
    const ofProcess = /^adit\.db(-wal|-shm|\.lock.*)$/
    const expected = readdirSync(server.dataDir).filter(name => !ofProcess.test(name))
    assert.deepEqual(inside.toSorted(), [...expected, 'backup.json'].toSorted())
    assert.deepEqual(readdirSync(at.path), ['b.tar'], 'nothing is left beside it')
    assert.equal((await restore(at.file('b.tar'), at.file('new'))).code, 0)
    for (const name of expected)
      assert.equal(statSync(at.file(`new/${name}`)).mode & 0o777, name === 'ca.pem' ? 0o644 : 0o600, name)
  })

  test('of a server with PostgreSQL has the keys, and names what else to back up', async () => {
    using at = new Folder()
    mkdirSync(at.file('data'))
    writeFileSync(at.file('data/master.key'), `${Buffer.alloc(32).toString('base64')}\n`)
    const done = await backUp(at.file('data'), at.file('b.tar'), {
      ADIT_DATABASE_URL: 'postgresql://db.example.com/adit',
    })
    assert.equal(done.code, 0)
    assert.match(done.stderr, /pg_dump/)
    const put = await restore(at.file('b.tar'), at.file('new'))
    assert.deepEqual([put.code, readdirSync(at.file('new'))], [0, ['master.key']])
    assert.match(put.stderr, /pg_restore/)
  })

  test('without the key, which is stored elsewhere, reports that', async () => {
    using at = new Folder()
    const key = Buffer.alloc(32, 7).toString('hex')
    await using server = await startServer({ master_key: key })
    const done = await backUp(server.dataDir, at.file('b.tar'), { ADIT_MASTER_KEY: key })
    assert.equal(done.code, 0)
    assert.match(done.stderr, /master key is not included/)
    const other = await backUp(server.dataDir, at.file('c.tar'), {
      ADIT_MASTER_KEY: Buffer.alloc(32).toString('hex'),
    })
    assert.equal(other.code, 1)
    assert.match(other.stderr, /^adit: the master key \(\w+\) is not that of the database \(\w+\)\n$/)
    assert.deepEqual(readdirSync(at.path), ['b.tar'])
  })

  test('is not made over another file, of nothing, or of what is no database', async () => {
    using at = new Folder()
    mkdirSync(at.file('data'))
    const nothing = await backUp(at.file('data'), at.file('b.tar'))
    assert.deepEqual([nothing.code, /nothing to back up/.test(nothing.stderr)], [1, true], nothing.stderr)
    writeFileSync(at.file('data/adit.db'), 'no database at all, whatever its name says')
    const noDatabase = await backUp(at.file('data'), at.file('b.tar'))
    assert.deepEqual(
      [noDatabase.code, /cannot be read/.test(noDatabase.stderr)],
      [1, true],
      noDatabase.stderr,
    )
    writeFileSync(at.file('b.tar'), 'mine')
    const over = await backUp(at.file('data'), at.file('b.tar'))
    assert.deepEqual([over.code, /already exists/.test(over.stderr)], [1, true], over.stderr)
    assert.equal(readFileSync(at.file('b.tar'), 'utf8'), 'mine')
    assert.deepEqual(readdirSync(at.path).toSorted(), ['b.tar', 'data'])
    assert.equal((await runAdit(['backup'])).code, 2)
  })
})

suite('restoring', () => {
  test('refuses a folder that is not empty, and leaves it as it was', async () => {
    using at = new Folder()
    await using server = await startServer()
    assert.equal((await backUp(server.dataDir, at.file('b.tar'))).code, 0)
    mkdirSync(at.file('data'))
    writeFileSync(at.file('data/mine'), 'mine')
    const refused = await restore(at.file('b.tar'), at.file('data'))
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /^adit: .* is not empty: .*\n$/)
    assert.deepEqual(readdirSync(at.file('data')), ['mine'])
    rmSync(at.file('data/mine'))
    mkdirSync(at.file('data/lost+found'))
    assert.equal((await restore(at.file('b.tar'), at.file('data'))).code, 0, 'a new volume has that folder')
  })

  test('refuses a backup that was cut or changed, and leaves nothing behind', async () => {
    using at = new Folder()
    await using server = await startServer()
    assert.equal((await backUp(server.dataDir, at.file('b.tar'))).code, 0)
    const whole = readFileSync(at.file('b.tar'))
    for (const size of [0, 511, Math.floor(whole.length / 2), whole.length - 2048]) {
      writeFileSync(at.file('cut.tar'), whole)
      truncateSync(at.file('cut.tar'), size)
      await assertDamaged(at.file('cut.tar'), at.file('data'))
    }
    const changed = Buffer.from(whole)
    changed.writeUInt8(changed.readUInt8(40_000) ^ 1, 40_000)
    writeFileSync(at.file('changed.tar'), changed)
    await assertDamaged(at.file('changed.tar'), at.file('data'))
  })

  test('takes no file out of the folder, and nothing that is not a file', async () => {
    using at = new Folder()
    for (const [name, args] of [
      ['up.tar', ['--transform', 's,^,../,', 'evil']],
      ['other.tar', ['evil']],
      ['link.tar', ['master.key']],
    ] as const) {
      writeFileSync(at.file('evil'), 'evil')
      rmSync(at.file('master.key'), { force: true })
      execFileSync('ln', ['-s', 'evil', at.file('master.key')])
      execFileSync('tar', ['-C', at.path, '--format=ustar', '-P', '-cf', at.file(name), ...args])
      rmSync(at.file('evil'))
      await assertDamaged(at.file(name), at.file('data'))
      assert.ok(!readdirSync(at.path).includes('evil'))
    }
  })

  test('reports that there is no such file', async () => {
    using at = new Folder()
    const { code, stderr } = await restore(at.file('none.tar'), at.file('data'))
    assert.deepEqual([code, /^adit: .*none\.tar cannot be read: .*ENOENT/.test(stderr)], [1, true], stderr)
  })
})

async function assertDamaged(file: string, dataDir: string): Promise<void> {
  const { code, stderr } = await restore(file, dataDir)
  assert.equal(code, 1, stderr)
  assert.match(stderr, /^adit: (this is not an Adit backup, or it is damaged|this backup has an entry .*)\n$/)
  assert.deepEqual(readdirSync(dataDir), [])
}
