import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { readSettings } from '#base/read-settings.ts'
import { Secret } from '#base/secrets.ts'
import type { Settings } from '#base/settings.ts'
import { firstStart } from '#server/first-start.ts'
import { shownPath } from '#server/welcome.ts'
import { openSqlite } from '#store/sqlite.ts'
import { withCommit } from '../acme/challenge-responder.ts'
import { Folder } from '../support/folder.ts'

const settingsIn = (folder: Folder, more: Partial<Settings> = {}): Settings => ({
  ...readSettings(new Map([['data_dir', folder.path]]), {}),
  ...more,
})

suite('the first start of two servers on one database at once', () => {
  /** The second one has looked and found no user when the first one makes it. */
  async function race(one: Settings, two: Settings) {
    await using store = await openSqlite(':memory:')
    let first: Awaited<ReturnType<typeof firstStart>>
    const late = withCommit(store, async (_, write) => {
      first = await firstStart(store, one, Date.now())
      return write()
    })
    const second = await firstStart(late, two, Date.now())
    return { first, second }
  }

  test('makes one admin, and leaves no key that opens nothing', async () => {
    using folder = new Folder()
    using other = new Folder()
    const { first, second } = await race(settingsIn(folder), settingsIn(other))
    assert.equal(second, undefined)
    assert.equal(readFileSync(join(folder.path, 'api-key'), 'utf8').trim(), first?.apiKey.reveal())
    assert.deepEqual(readdirSync(other.path), [])
  })

  test('leaves what the operator gave', async () => {
    using folder = new Folder()
    using other = new Folder()
    const given = { api_key: new Secret('a key for both of them, long enough') }
    writeFileSync(join(other.path, 'authtoken'), 'was here before\n')
    const { first, second } = await race(settingsIn(folder, given), settingsIn(other, given))
    assert.deepEqual([first?.apiKey.reveal(), second], [given.api_key.reveal(), undefined])
    assert.deepEqual(readdirSync(other.path).toSorted(), ['api-key', 'authtoken'])
  })
})

test('the start message names files for a person in the working folder, and for one anywhere after a service started', () => {
  assert.equal(shownPath('/srv/adit/data', '/srv/adit'), 'data')
  assert.equal(shownPath('/srv/adit', '/srv/adit'), '.')
  assert.equal(shownPath('/var/lib/adit', '/srv/adit'), '/var/lib/adit')
  assert.equal(shownPath('/var/lib/adit', '/'), '/var/lib/adit')
})
