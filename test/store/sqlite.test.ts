import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import { openStore } from '#store/open.ts'
import { openSqlite } from '#store/sqlite.ts'
import { insert, write } from './writes.ts'
import { Folder } from '../support/folder.ts'

const module = new URL('../../src/store/sqlite.ts', import.meta.url).href

/** Another process that commits rows `r0`, `r1`, … to the file and prints the number of each once it is done. */
const WRITER = `
  const { openSqlite } = await import(${JSON.stringify(module)})
  const store = await openSqlite(process.argv[1])
  for (let n = 0; ; n += 1) {
    const row = { id: 'r' + n, kind: 'thing', parent: null, version: 1, body: '{}' }
    await store.commit([{ op: 'insert', entry: { row, refs: [], claims: [] } }])
    process.stdout.write(n + '\\n')
  }
`

suite('sqlite file', () => {
  let folder: Folder
  before(async () => {
    folder = new Folder()
  })
  after(() => folder[Symbol.dispose]())
  const locked = { name: 'StoreError', code: 'locked', message: /Another process uses this database/ }

  test('is refused to a second opener, by whatever name', async () => {
    const file = join(folder.path, 'one.db')
    await symlink(file, join(folder.path, 'link.db'))
    {
      await using store = await openSqlite(file)
      await assert.rejects(openSqlite(file), locked)
      await assert.rejects(openSqlite(join(folder.path, 'link.db')), locked)
      await write(store, insert('a'))
    }
    await using store = await openSqlite(file)
    assert.ok(await store.get('a'))
  })

  test('is refused while another process has it, and free with all its rows after SIGKILL', async () => {
    const file = join(folder.path, 'killed.db')
    const writer = spawn(process.execPath, ['--input-type=module', '-e', WRITER, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    writer.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
    while (printed.split('\n').length < 20) await once(writer.stdout, 'data')
    await assert.rejects(openSqlite(file), locked)

    const closed = once(writer, 'close')
    writer.kill('SIGKILL')
    await closed
    await using store = await openSqlite(file)
    const acknowledged = printed
      .slice(0, printed.lastIndexOf('\n'))
      .split('\n')
      .map(n => `r${n}`)
    assert.equal((await store.getMany(acknowledged)).length, acknowledged.length)
  })

  test('can be read by another program while it is in use', async () => {
    const file = join(folder.path, 'read.db')
    await using store = await openSqlite(file)
    await write(store, insert('a'))
    using reader = new DatabaseSync(file, { readOnly: true })
    reader.exec('BEGIN')
    const count = () => reader.prepare('SELECT count(*) AS n FROM resource').get()?.['n']
    assert.equal(count(), 1)
    await write(store, insert('b'))
    assert.equal(count(), 1)
    reader.exec('COMMIT')
    assert.equal(count(), 2)
  })

  test('fails with "locked" while another program holds its write lock, and works again after', async () => {
    const file = join(folder.path, 'busy.db')
    await using store = await openSqlite(file)
    using other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    await assert.rejects(store.commit([insert('a')]), { name: 'StoreError', code: 'locked' })
    other.exec('COMMIT')
    await write(store, insert('a'))
  })

  test('shows every change, also those of a process that shared it', async () => {
    const file = join(folder.path, 'shared.db')
    await using store = await openSqlite(file)
    const changed = async (revision: number) => (await store.changes(revision, 9)).map(({ id }) => id)
    await write(store, insert('a'))
    assert.deepEqual(await changed(0), ['a'])
    store.share()
    {
      await using other = await openSqlite(file, undefined, { shared: true })
      await write(other, insert('b'))
      assert.deepEqual(await changed(1), ['b'])
      await write(store, insert('c'))
      await write(other, insert('d'))
    }
    await store.own()
    assert.deepEqual(await changed(1), ['b', 'c', 'd'])
    await write(store, insert('e'))
    assert.deepEqual(await changed(3), ['d', 'e'])
    assert.deepEqual(await changed(4), ['e'])
    assert.deepEqual(await changed(5), [])
  })

  test('is readable by its owner alone', async () => {
    const dataDir = join(folder.path, 'data')
    await using store = await openStore({ databaseUrl: undefined, dataDir })
    await store.ping()
    assert.equal((await stat(join(dataDir, 'adit.db'))).mode & 0o777, 0o600)
  })

  test('is refused with "unusable" when it is none', async () => {
    const unusable = { name: 'StoreError', code: 'unusable' }
    const file = join(folder.path, 'text.db')
    await writeFile(file, 'This is not a database.'.repeat(100))
    await assert.rejects(openSqlite(file), unusable)
    await mkdir(join(folder.path, 'folder.db'))
    await assert.rejects(openSqlite(join(folder.path, 'folder.db')), unusable)
    await assert.rejects(openStore({ databaseUrl: undefined, dataDir: file }), unusable)
  })

  test('may be in memory', async () => {
    await using store = await openSqlite(':memory:')
    await using other = await openSqlite(':memory:')
    await write(store, insert('a'))
    assert.equal(await other.get('a'), undefined)
  })

  test('is not what an unknown database URL means', async () => {
    await assert.rejects(
      openStore({ databaseUrl: 'mysql://user:secret@host/db', dataDir: folder.path }),
      error => {
        assert.ok(error instanceof Error)
        assert.match(error.message, /postgresql:\/\/.*mysql:/)
        assert.doesNotMatch(error.message, /secret/)
        return true
      },
    )
  })
})
