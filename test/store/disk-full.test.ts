import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import { openSqlite } from '#store/sqlite.ts'
import { insert, write } from './writes.ts'
import { Folder } from '../support/folder.ts'

const MEBIBYTE = 2 ** 20

suite('sqlite on a full disk', () => {
  let folder: Folder
  before(async () => {
    folder = new Folder()
    // Throws with mount's own words where mounting is not permitted: this test cannot be done without.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder.path])
  })
  after(async () => {
    execFileSync('umount', [folder.path])
    folder[Symbol.dispose]()
  })

  test('refuses with "full", keeps what it acknowledged, and works again once there is space', async () => {
    const [file, ballast] = [join(folder.path, 'adit.db'), join(folder.path, 'ballast')]
    const acknowledged: string[] = []
    {
      await using store = await openSqlite(file)
      await writeFile(ballast, Buffer.alloc(5 * MEBIBYTE))
      const body = JSON.stringify('x'.repeat(10_000))
      const failures = new Set<unknown>()

      for (let round = 0; failures.size === 0; round += 1) {
        const names = Array.from({ length: 7 }, (_, n) => `r${round}_${n}`)
        const results = await Promise.allSettled(names.map(id => write(store, insert(id, { body }))))
        for (const [n, result] of results.entries()) {
          if (result.status === 'fulfilled') acknowledged.push(names[n] ?? '')
          else failures.add(result.reason.code)
        }
        assert.ok(round < 1000, 'the disk did not fill')
      }
      assert.deepEqual([...failures], ['full'])

      await assert.rejects(store.commit([insert('more', { body: body.repeat(50) })]), {
        name: 'StoreError',
        code: 'full',
      })
      assert.equal((await store.getMany(acknowledged)).length, acknowledged.length)
      assert.equal(await store.revision(), acknowledged.length)

      await rm(ballast)
      await write(store, insert('after', { body }))
      acknowledged.push('after')
    }

    await using store = await openSqlite(file)
    assert.equal((await store.getMany(acknowledged)).length, acknowledged.length)
    assert.equal((await store.list('thing', { limit: 10_000 })).length, acknowledged.length)
    using reader = new DatabaseSync(file, { readOnly: true })
    assert.equal(reader.prepare('PRAGMA integrity_check').get()?.['integrity_check'], 'ok')
  })
})
