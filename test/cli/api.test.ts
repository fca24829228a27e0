import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { parse } from 'yaml'
import { runCommand } from '../support/command-host.ts'
import { runAdit, startServer, type Finished, type TestServer } from '../support/server.ts'
import { run, runOnTerminal } from './run.ts'
import { program } from '../support/program.ts'

const between = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, at) => String.fromCharCode(first + at))

suite('adit api', () => {
  let server: TestServer
  let environment: Record<string, string>
  const adit = (...args: string[]): Promise<Finished> => runCommand(['api', ...args], environment)
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await adit(...args)
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  const made = async (...args: string[]): Promise<string> => (await adit(...args, '--quiet')).stdout.trim()

  before(async () => {
    server = await startServer()
    environment = { ADIT_API_URL: server.api.url, ADIT_DATA_DIR: server.dataDir }
  })
  after(() => server[Symbol.asyncDispose]())

  test('makes, changes, reads and removes a resource', async () => {
    const first = await made('ip-policies', 'create', '--description', 'first')
    const second = await made('ip-policies', 'create')
    assert.match(first, /^ipp_\w{27}$/)
    const ids = `${first},${second}`
    const restriction = await json(
      'ip-restrictions',
      'create',
      '--type',
      'agent',
      '--ip-policy-ids',
      ids,
      '--enforced',
    )
    assert.equal(restriction.enforced, true)
    assert.deepEqual(
      restriction.ip_policies.map((policy: { id: string }) => policy.id),
      [first, second],
    )
    const changed = await json(
      'ip-restrictions',
      'update',
      restriction.id,
      '--no-enforced',
      '--ip-policy-ids',
      second,
    )
    assert.equal(changed.enforced, false)
    assert.deepEqual(await json('ip-restrictions', 'get', restriction.id), changed)
    assert.deepEqual(await adit('ip-restrictions', 'delete', restriction.id), {
      code: 0,
      stdout: '',
      stderr: '',
    })
    assert.equal((await adit('ip-restrictions', 'get', restriction.id)).code, 3)
  })

  test('reads lists, maps, numbers, JSON and files from flags', async () => {
    const page = join(server.dataDir, 'page.html')
    writeFileSync(page, '<h1>Hello</h1>\n')
    const given = ['--body', `@${page}`, '--status-code', '404', '--headers', 'x-a=1=2', '--headers', 'x-b=c']
    const answer = await json('http-response-backends', 'create', ...given)
    assert.equal(answer.body, '<h1>Hello</h1>')
    assert.equal(answer.status_code, 404)
    assert.deepEqual(answer.headers, { 'x-a': '1=2', 'x-b': 'c' })
    assert.equal((await json('http-response-backends', 'create', '--body', '@@home')).body, '@home')

    const weighted = await json('weighted-backends', 'create', '--backends', `${answer.id}=7`)
    assert.deepEqual(weighted.backends, { [answer.id]: 7 })
    const backend = JSON.stringify({ backend_id: answer.id })
    const hostports = ['--hostports', 'a.test:2001, b.test:2002', '--hostports', '["c.test:2003"]']
    const edge = await json('tcp-edges', 'create', '--backend', backend, ...hostports)
    assert.equal(edge.backend.backend.id, answer.id)
    assert.deepEqual(edge.hostports, ['a.test:2001', 'b.test:2002', 'c.test:2003'])
    const set = await json('tcp-edges', 'replace-backend', edge.id, '--backend-id', answer.id, '--no-enabled')
    assert.equal(set.enabled, false)
    assert.deepEqual((await json('tcp-edges', 'update', edge.id, '--hostports', '')).hostports, [])
  })

  test('takes the whole body as JSON: in place, from a file or from standard input', async () => {
    const text = JSON.stringify({ description: 'from JSON', metadata: 'kept' })
    const file = join(server.dataDir, 'body.json')
    writeFileSync(file, text)
    for (const origin of [text, file, '-']) {
      const args = ['api', 'ip-policies', 'create', '--json', origin, '--description', 'from a flag']
      const { code, stdout, stderr } = await run(program, args, { environment, input: text })
      assert.equal(code, 0, stderr)
      const { description, metadata } = JSON.parse(stdout)
      assert.deepEqual({ description, metadata }, { description: 'from a flag', metadata: 'kept' })
    }
  })

  test('takes the parents of a resource before its own id', async () => {
    const edge = await made('https-edges', 'create')
    const route = await made(
      'https-edge-routes',
      'create',
      edge,
      '--match-type',
      'path_prefix',
      '--match',
      '/',
    )
    assert.equal((await json('https-edge-routes', 'get', edge, route)).edge_id, edge)
  })

  test('lists through all pages, or as many as requested', async () => {
    for (let count = 0; count < 105; count++) await server.api.post('/bot_users', { name: `bot ${count}` })
    const all = await json('bot-users', 'list')
    assert.equal(all.length, 105)
    assert.equal(all[0].name, 'bot 104')
    assert.equal((await json('bot-users', 'list', '--limit', '103')).length, 103)
    assert.deepEqual(
      await json('bot-users', 'list', '--limit', '2', '--before-id', all[2].id),
      all.slice(3, 5),
    )
    const ids = await adit('bot-users', 'list', '--quiet', '--limit', '2')
    assert.equal(ids.stdout, `${all[0].id}\n${all[1].id}\n`)
  })

  test('writes tables and YAML', async () => {
    assert.equal((await adit('certificate-authorities', 'list', '--output', 'table')).stdout, 'None.\n')
    const description = 'two\nlines \u001b[31mred\u009b'
    const { body: kept } = await server.api.post('/backends/tunnel_group', {
      description,
      labels: { a: 'b' },
    })
    const words = ['tunnel-group-backends', 'get', kept.id, '--output']
    const table = await adit('tunnel-group-backends', 'list', '-o', 'table')
    const [head = '', row = ''] = table.stdout.split('\n')
    assert.match(head, /^id +owner_id +labels +description +created_at$/)
    assert.equal(row.indexOf('a=b'), head.indexOf('labels'))
    assert.ok(row.includes('two lines \\u001b[31mred\\u009b'))
    assert.match((await adit(...words, 'table')).stdout, new RegExp(`^id +${kept.id}$`, 'm'))
    const yaml = await adit(...words, 'yaml')
    assert.ok(!yaml.stdout.includes('\u001b') && !yaml.stdout.includes('\u009b'))
    assert.deepEqual(parse(yaml.stdout), kept)
    assert.ok(!(await adit(...words, 'json')).stdout.includes('\u009b'))
  })

  test('shows characters that turn the direction of text as escapes', async () => {
    const turning = ['\u061c', '\u200e', '\u200f', ...between(0x202a, 0x202e), ...between(0x2066, 0x2069)]
    for (const sentence of ['one line', 'two\nlines']) {
      const metadata = turning.map(character => `${sentence} ${character}nimda`).join(' ')
      const { body: kept } = await server.api.post('/ip_policies', { description: 'שלום', metadata })
      for (const format of ['json', 'yaml', 'table']) {
        const { stdout } = await adit('ip-policies', 'get', kept.id, '--output', format)
        for (const character of turning) assert.ok(!stdout.includes(character), format)
        assert.ok(stdout.includes('\\u202enimda') && stdout.includes('שלום'), stdout)
        if (format !== 'table') assert.deepEqual(parse(stdout), kept)
      }
    }
  })

  test('finds the key in the data folder of the current folder', async () => {
    const folder = join(server.dataDir, 'elsewhere')
    mkdirSync(join(folder, 'data'), { recursive: true })
    writeFileSync(join(folder, 'data/api-key'), `${server.api.token}\n`)
    const here = await run(program, ['api', '--url', server.api.url, 'self'], { cwd: folder })
    assert.equal(here.code, 0, here.stderr)
    const nowhere = await run(program, ['api', 'self', '--url', server.api.url], {
      cwd: join(folder, 'data'),
    })
    assert.equal(nowhere.code, 4)
    assert.match(nowhere.stderr, /no API key in data\/api-key; set ADIT_API_KEY/)
    const key = ['--key-file', join(folder, 'data/api-key')]
    assert.equal((await runAdit(['api', 'self', '--url', server.api.url, ...key])).code, 0)
    const wrong = await runAdit(['api', 'self'], { ...environment, ADIT_API_KEY: 'unknown' })
    assert.equal(wrong.code, 4)
    assert.match(wrong.stderr, /operation \w+/)
  })

  test('asks for confirmation before it removes, but only on a terminal', async () => {
    const id = await made('ip-policies', 'create')
    const answer = (input: string) =>
      runOnTerminal(['api', 'ip-policies', 'delete', id], { environment, prompt: '[y/N]', input })
    const declined = await answer('n\n')
    assert.equal(declined.code, 1)
    assert.match(declined.stdout, /\[y\/N\].*nothing was deleted/s)
    assert.equal((await answer('\u0003')).code, 130)
    assert.equal((await adit('ip-policies', 'get', id)).code, 0)
    assert.equal((await answer('y\n')).code, 0)
    assert.equal((await adit('ip-policies', 'get', id)).code, 3)
    const other = await made('ip-policies', 'create')
    assert.equal(
      (await runOnTerminal(['api', 'ip-policies', 'delete', other, '--yes'], { environment })).code,
      0,
    )
  })

  test('shows a table on a terminal, in colour unless disabled', async () => {
    const list = ['api', 'users', 'list']
    const coloured = await runOnTerminal(list, { environment: { ...environment, TERM: 'xterm' } })
    assert.ok(coloured.stdout.startsWith('\u001b[1mid'))
    const plain = await runOnTerminal(list, { environment: { ...environment, TERM: 'xterm', NO_COLOR: '1' } })
    assert.match(plain.stdout, /^id +name/)
  })
})
