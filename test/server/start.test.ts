import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import { secretText } from '../support/secrets.ts'
import { refused, start, takePort } from './program.ts'
import { Folder } from '../support/folder.ts'
import { runAdit } from '../support/server.ts'

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

/** One line for a person, beginning with the program's name. */
function assertOneLine(text: string, ...parts: RegExp[]): void {
  assert.match(text, /^adit: [^\n]+\n$/)
  for (const part of parts) assert.match(text, part)
}

suite('the first start', () => {
  test('prints the address and a key that works, and keeps secrets for its owner alone', async () => {
    using folder = new Folder()
    await using program = await start({ ADIT_DATA_DIR: folder.path })

    const self = await program.caller().get('/self')
    assert.equal(self.status, 200)
    assert.equal(readFileSync(join(folder.path, 'api-key'), 'utf8'), `${program.key}\n`)
    assert.ok(!program.stdout.includes(readFileSync(join(folder.path, 'authtoken'), 'utf8').trim()))
    for (const name of ['api-key', 'authtoken', 'master.key', 'adit.db', 'adit.db.lock']) {
      assert.equal(modeOf(join(folder.path, name)), '600', name)
    }
    assert.equal(program.stderr, '')
  })

  for (const [off, scheme] of [
    ['HTTPS', 'http'],
    ['HTTP', 'https'],
  ] as const)
    test(`prints the command for the only scheme that it serves, ${scheme}, as the agent does`, async () => {
      using folder = new Folder()
      await using program = await start({ ADIT_DATA_DIR: folder.path, [`ADIT_${off}_ADDR`]: 'off' })
      assert.match(program.stdout, new RegExp(`^ +ADIT_.* \\S*adit http 3000 --scheme ${scheme}$`, 'm'))
      const { code, stderr } = await runAdit(['http', '1'], { ADIT_DATA_DIR: folder.path })
      assert.equal(code, 1)
      assert.match(
        stderr,
        /does not serve https?: that listener is off\.\n.*\n +--scheme http or --scheme https opens/,
      )
    })

  test('makes a data folder that only its owner can enter', async () => {
    using folder = new Folder()
    const path = join(folder.path, 'a/b')
    await using program = await start({ ADIT_DATA_DIR: path })
    assert.equal(modeOf(path), '700')
    assert.equal(await program.end(), 0)
  })

  test('takes a key and an authtoken that are given', async () => {
    using folder = new Folder()
    const given = { ADIT_API_KEY: secretText('api key'), ADIT_AUTHTOKEN: secretText('authtoken') }
    await using program = await start({ ADIT_DATA_DIR: folder.path, ...given })
    const api = program.caller(given.ADIT_API_KEY)

    assert.equal((await api.get('/self')).status, 200)
    assert.equal((await api.get('/credentials')).body.credentials.length, 1)
    const asAgent = await api.get('/self', { token: given.ADIT_AUTHTOKEN })
    const unknown = await api.get('/self', { token: secretText('unknown') })
    assert.deepEqual([asAgent.status, unknown.status], [401, 401])
    assert.notEqual(asAgent.body.error_code, unknown.body.error_code)
    assert.equal(readFileSync(join(folder.path, 'authtoken'), 'utf8').trim(), given.ADIT_AUTHTOKEN)
  })
})

suite('a later start', () => {
  const earlier = new Folder()
  let key: string
  before(async () => {
    const first = await start({ ADIT_DATA_DIR: earlier.path })
    key = first.key ?? assert.fail('no key was printed')
    assert.equal(await first.end(), 0)
  })
  after(() => earlier[Symbol.dispose]())

  /** The data of a server that was started and ended. */
  function earlierData(): Folder {
    const folder = new Folder()
    cpSync(earlier.path, folder.path, { recursive: true })
    return folder
  }

  test('prints no key but the way to the dashboard, and the first key still works', async () => {
    using folder = earlierData()
    await using second = await start({ ADIT_DATA_DIR: folder.path })
    assert.equal(second.key, undefined)
    assert.ok(!second.stdout.includes(key))
    assert.match(second.stdout, /^ +Dashboard +http\S+\/dashboard\n +to sign in: \S*adit dashboard$/m)
    assert.match(second.stdout, /^ +API key +in \S+\/api-key$/m)
    assert.equal((await second.caller(key).get('/self')).status, 200)
  })

  test('does not take another key, and reports that without showing it', async () => {
    using folder = new Folder()
    const first = await start({ ADIT_DATA_DIR: folder.path, ADIT_API_KEY: secretText('the first') })
    await first.end()
    await using second = await start({ ADIT_DATA_DIR: folder.path, ADIT_API_KEY: secretText('the other') })
    assert.match(second.stdout, /Note: ADIT_API_KEY is not a key of this database/)
    assert.equal((await second.caller(secretText('the first')).get('/self')).status, 200)
    assert.equal((await second.caller(secretText('the other')).get('/self')).status, 401)
  })

  test('refuses a database that a newer program has migrated', async () => {
    using folder = earlierData()
    {
      using database = new DatabaseSync(join(folder.path, 'adit.db'))
      database.exec('UPDATE migration SET version = 999 WHERE version = (SELECT max(version) FROM migration)')
    }
    const { code, stdout, stderr } = await refused({ ADIT_DATA_DIR: folder.path })
    assert.deepEqual([code, stdout], [1, ''])
    assertOneLine(stderr, /999/, /newer/)
  })

  test('reports that the master key is missing, and creates no other', async () => {
    using folder = earlierData()
    rmSync(join(folder.path, 'master.key'))
    const { code, stderr } = await refused({ ADIT_DATA_DIR: folder.path })
    assert.equal(code, 1)
    assertOneLine(stderr, /master key .* is missing/, /ADIT_MASTER_KEY/)
    assert.ok(!existsSync(join(folder.path, 'master.key')))
  })

  test('refuses another master key', async () => {
    using folder = earlierData()
    const other = randomBytes(32).toString('base64')
    const { code, stderr } = await refused({ ADIT_DATA_DIR: folder.path, ADIT_MASTER_KEY: other })
    assert.equal(code, 1)
    assertOneLine(stderr, /master key/, /ADIT_MASTER_KEY/)
    assert.ok(!stderr.includes(other))
  })

  test('refuses while another process uses the same data folder, and does not affect it', async () => {
    using folder = new Folder()
    await using first = await start({ ADIT_DATA_DIR: folder.path })
    const { code, stderr } = await refused({ ADIT_DATA_DIR: folder.path })
    assert.equal(code, 1)
    assertOneLine(stderr, /Another process/)
    assert.equal((await first.caller().post('/ip_policies')).status, 201)
  })
})

suite('a start that fails', () => {
  test('names the setting of a port that is taken', async () => {
    using folder = new Folder()
    await using taken = await takePort()
    const address = `127.0.0.1:${taken.port}`
    const { code, stdout, stderr } = await refused({ ADIT_DATA_DIR: folder.path, ADIT_API_ADDR: address })
    assert.deepEqual([code, stdout], [1, ''])
    assertOneLine(stderr, /ADIT_API_ADDR/, new RegExp(address))
  })

  test('names the data folder that cannot be one', async () => {
    using folder = new Folder()
    const file = join(folder.path, 'file')
    writeFileSync(file, '')
    for (const path of [file, join(file, 'below')]) {
      const { code, stderr } = await refused({ ADIT_DATA_DIR: path })
      assert.equal(code, 1)
      assertOneLine(stderr, /ADIT_DATA_DIR/, new RegExp(path))
    }
  })

  test('names what is wrong with the database', async () => {
    using folder = new Folder()
    const at = { ADIT_DATA_DIR: folder.path }
    const unreachable = await refused({
      ...at,
      ADIT_DATABASE_URL: `postgres://u:${secretText('password')}@localhost/x?host=${folder.path}`,
    })
    const strange = await refused({
      ...at,
      ADIT_DATABASE_URL: `mysql://u:${secretText('password')}@localhost/x`,
    })
    for (const { code, stderr } of [unreachable, strange]) {
      assert.equal(code, 1)
      assertOneLine(stderr, /database/i)
    }
    writeFileSync(
      join(folder.path, 'adit.db'),
      'this is not a database, and it is long enough to be sure of it',
    )
    const { code, stderr } = await refused(at)
    assert.equal(code, 1)
    assertOneLine(stderr, /SQLite/)
  })
})

test('a server without management API runs until it is sent a signal', async () => {
  using folder = new Folder()
  await using program = await start({ ADIT_DATA_DIR: folder.path, ADIT_API_ADDR: 'off' })
  assert.match(program.stdout, /^ +API +off$/m)
  const { code } = await refused({ ADIT_DATA_DIR: folder.path })
  assert.equal(code, 1, 'the first process has let go of the data folder')
  assert.equal(await program.end(), 0)
})
