import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { flagOf, readSettings, readWithSources, variableOf } from '#base/read-settings.ts'
import type { Setting } from '#base/settings/setting.ts'
import { settings } from '#base/settings.ts'
import { effectiveSettings } from '#server/effective-settings.ts'
import { refused, start } from './program.ts'
import { Folder } from '../support/folder.ts'

const all: [string, Setting<unknown>][] = Object.entries(settings)
const candidates = ['', 'no such value', '99999999999', ':70000']

/** A text that the setting does not take; undefined when it takes any. */
const invalidFor = ({ read }: Setting<unknown>): string | undefined =>
  candidates.find(text => {
    try {
      read(text)
      return false
    } catch {
      return true
    }
  })

const checked = all.flatMap(([name, setting]) => {
  const value = invalidFor(setting)
  return value === undefined ? [] : [{ name, value }]
})

function configIn(folder: Folder, text: string): string {
  const path = join(folder.path, 'adit.yaml')
  writeFileSync(path, text)
  return path
}

/** Exit code 2 and one line that holds all of `parts`. */
async function assertRefused(
  given: { environment?: Record<string, string>; args?: readonly string[] },
  ...parts: string[]
): Promise<void> {
  const { code, stdout, stderr } = await refused(given.environment ?? {}, given.args)
  assert.deepEqual([code, stdout], [2, ''], stderr)
  assert.match(stderr, /^[^\n]+\n$/)
  for (const part of parts) assert.ok(stderr.includes(part), `${part} is not in: ${stderr}`)
}

suite('the settings that are shown', () => {
  const SECRET = 'kept-from-view'
  for (const [name, value, shown] of [
    ['page_dashboard_url', `https://user:${SECRET}@example.com/a`, 'https://[masked]@example.com/a'],
    ['page_dashboard_url', `https://user:p@${SECRET}@example.com/a`, 'https://[masked]@example.com/a'],
    ['page_dashboard_url', `https://${SECRET}@example.com`, 'https://[masked]@example.com'],
    [
      'page_dashboard_url',
      `https://example.com/?a=1&api_key=${SECRET}&b=@2`,
      'https://example.com/?a=1&api_key=[masked]&b=@2',
    ],
    ['database_url', `postgres://user:${SECRET}@db/adit`, '[masked]'],
    ['traces_headers', `authorization=${SECRET}`, '[masked]'],
  ] as const)
    test(`have no secrets: ${name}, ${shown}`, () => {
      const { settings: values, sources } = readWithSources(new Map([[name, value]]), {})
      const effective = effectiveSettings(values, sources)
      assert.equal(effective.settings.find(each => each.name === name)?.value, shown)
      assert.doesNotMatch(JSON.stringify(effective), new RegExp(SECRET))
    })
})

suite('an invalid value is refused by the name under which it was given', { concurrency: 2 }, () => {
  test('for most settings there are invalid values', () => assert.ok(checked.length >= 12))

  // The program reads all of them in the same way: starting it for each would test that again and again.
  for (const { name, value } of checked)
    test(`${name} as a variable`, () => {
      const read = () => readSettings(new Map(), { [variableOf(name)]: value })
      assert.throws(read, { message: new RegExp(`^${variableOf(name)} must be [^\\n]+$`) })
    })

  test('as a variable of the program', () =>
    assertRefused({ environment: { ADIT_RATE_LIMIT: 'many' } }, 'ADIT_RATE_LIMIT', 'must be'))

  test('as a flag', () => assertRefused({ args: ['--rate-limit', 'many'] }, '--rate-limit', 'must be'))

  test('in the file', async () => {
    using folder = new Folder()
    const path = configIn(folder, 'rate_limit: many\n')
    await assertRefused({ args: ['--config', path] }, '"rate_limit"', path, 'must be')
  })

  test('and a secret is not repeated', async () => {
    const { stderr } = await refused({ ADIT_MASTER_KEY: 'too-short-to-be-a-key' })
    assert.ok(!stderr.includes('too-short'))
  })
})

suite('what is not a setting is refused by name', { concurrency: 2 }, () => {
  test('as a flag', () => assertRefused({ args: ['--no-such-flag', 'x'] }, '--no-such-flag'))
  test('as a variable', () => assertRefused({ environment: { ADIT_NO_SUCH: 'x' } }, 'ADIT_NO_SUCH'))
  test('as a key of the file', async () => {
    using folder = new Folder()
    const path = configIn(folder, 'no_such: 1\n')
    await assertRefused({ environment: { ADIT_CONFIG: path } }, '"no_such"', path)
  })
  test('as a file that is not there', () =>
    assertRefused({ args: ['--config', '/no/such/file'] }, '/no/such/file'))
  test('as a file that is not YAML', async () => {
    using folder = new Folder()
    await assertRefused({ args: ['--config', configIn(folder, 'a: [')] }, 'adit.yaml')
  })
})

test('a flag beats a variable beats the file beats the default', { concurrency: 2 }, async () => {
  using folder = new Folder()
  const path = configIn(folder, `api_url: http://file.example\ndata_dir: ${join(folder.path, 'data')}\n`)
  const file = ['--config', path]
  const variable = { ADIT_API_URL: 'http://variable.example' }
  const flag = [flagOf('api_url'), 'http://flag.example']
  const shown = async (environment: Record<string, string>, args: readonly string[]) => {
    await using program = await start(environment, args)
    return program.url
  }
  assert.equal(await shown(variable, [...file, ...flag]), 'http://flag.example')
  assert.equal(await shown(variable, file), 'http://variable.example')
  assert.equal(await shown({}, file), 'http://file.example')
  assert.match(await shown({ ADIT_DATA_DIR: join(folder.path, 'data') }, []), /^http:\/\/127\.0\.0\.1:\d+$/)
})

test('the help names every setting with its variable', async () => {
  const { code, stdout } = await refused({}, ['--help'])
  assert.equal(code, 0)
  for (const [name] of all) {
    assert.ok(stdout.includes(`${flagOf(name)} `), name)
    assert.ok(stdout.includes(variableOf(name)), name)
  }
})
