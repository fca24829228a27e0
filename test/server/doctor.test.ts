import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { rm, symlink, writeFile } from 'node:fs/promises'
import { createServer as createHttps } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { suite, test } from 'node:test'
import { LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'
import { freePort } from '../support/free-ports.ts'
import { newFolder } from '../support/folder.ts'
import { program } from '../support/program.ts'
import { runAdit, spawnServer } from '../support/server.ts'

interface Check {
  readonly check: string
  readonly result: string
  readonly detail: string
  readonly fix?: string
}

const off = { ADIT_HTTP_ADDR: 'off', ADIT_HTTPS_ADDR: 'off', ADIT_AGENT_ADDR: 'off', ADIT_SSH_ADDR: 'off' }

async function examined(environment: Record<string, string>) {
  const settings = { ADIT_DATA_DIR: newFolder(), ADIT_API_ADDR: 'off', ...off, ...environment }
  const { code, stdout, stderr } = await runAdit(['doctor', '--json'], settings)
  assert.notEqual(stdout, '', stderr)
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] }
  assert.equal(code, ok ? 0 : 1)
  return { ok, of: (name: string) => checks.find(({ check }) => check === name) }
}

suite('adit doctor', () => {
  test('finds nothing wrong where a server runs, and prints a line for each check', async () => {
    const dataDir = newFolder()
    const server = await spawnServer(dataDir)
    const at = (name: 'http' | 'https' | 'agent' | 'ssh') => `127.0.0.1:${server.bound[name]?.port ?? 0}`
    const { code, stdout } = await runAdit(['doctor'], {
      ADIT_DATA_DIR: dataDir,
      ADIT_API_ADDR: new URL(server.api.url).host,
      ADIT_HTTP_ADDR: at('http'),
      ADIT_HTTPS_ADDR: at('https'),
      ADIT_AGENT_ADDR: at('agent'),
      ADIT_SSH_ADDR: at('ssh'),
    })
    await server.end('SIGTERM')
    assert.equal(code, 0, stdout)
    for (const check of ['versions', 'database', 'disk', 'file limit', 'clock', 'dns', 'port', 'certificate'])
      assert.match(stdout, new RegExp(`^(ok|warning) +${check}`, 'm'))
    assert.match(stdout, /^ok +certificate +that of adit\.localhost is valid until/m)
  })

  test('reports a data folder and a database that this user may not read', async () => {
    const folder = newFolder()
    // A link to itself cannot be followed, also by root.
    await symlink('adit.db', join(folder, 'adit.db'))
    const database = await examined({ ADIT_DATA_DIR: folder })
    assert.equal(database.of('database')?.result, 'problem')
    assert.match(database.of('database')?.detail ?? '', /adit\.db cannot be read \(ELOOP\)$/)
    assert.match(database.of('database')?.fix ?? '', /^Run this as the user of the server/)
    const { code, stderr } = await runAdit(['backup', join(folder, 'x.backup')], { ADIT_DATA_DIR: folder })
    assert.equal(code, 1)
    assert.match(stderr, /^adit: \S+\/adit\.db \(ADIT_DATA_DIR\) cannot be read: ELOOP/)
    await rm(folder, { recursive: true })
  })

  test('compares the clock with that of a CA with a private address and root', async () => {
    const authority = await LocalAuthority.open(await makeLocalRoot('Test'))
    const { certificatePem: cert, privateKeyPem: key } = await authority.issue(['127.0.0.1'])
    const folder = newFolder()
    await writeFile(join(folder, 'root.pem'), authority.rootPem)
    const directory = createHttps({ cert, key: key.reveal() }, (_, response) => response.end('{}'))
    await once(directory.listen(0, '127.0.0.1'), 'listening')
    const { port } = directory.address() as { port: number }
    const settings = {
      ADIT_ACME_DIRECTORY: `https://127.0.0.1:${port}/dir`,
      ADIT_EGRESS_ALLOW: '127.0.0.0/8',
    }
    const trusted = await examined({ ...settings, ADIT_ACME_CA_FILE: join(folder, 'root.pem') })
    const other = await examined(settings)
    directory.close()
    assert.match(trusted.of('clock')?.detail ?? '', /^it differs by \d+ seconds from the CA$/)
    assert.equal(other.of('clock')?.result, 'warning')
    assert.match(other.of('clock')?.fix ?? '', /ADIT_ACME_CA_FILE/)
  })

  test('does not say of a server with other listeners that it does not run', async () => {
    const dataDir = newFolder()
    const server = await spawnServer(dataDir)
    const found = await examined({ ADIT_DATA_DIR: dataDir, ADIT_HTTPS_ADDR: `127.0.0.1:${await freePort()}` })
    const chosen = await examined({
      ADIT_DATA_DIR: dataDir,
      ADIT_HTTP_ADDR: '127.0.0.1:0',
      ADIT_HTTPS_ADDR: '127.0.0.1:0',
    })
    await server.end('SIGTERM')
    assert.equal(chosen.of('port of ADIT_HTTP_ADDR')?.result, 'ok')
    assert.equal(chosen.of('certificate')?.detail, 'not checked: the port is chosen at each start')
    assert.equal(found.of('certificate')?.detail, 'not checked: the server listens elsewhere')
  })

  test('names a port that another program uses', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const found = await examined({ ADIT_HTTP_ADDR: `127.0.0.1:${port}` })
    other.close()
    const check = found.of(`port ${port}`)
    assert.equal(check?.result, 'problem')
    assert.match(check?.fix ?? '', /Another program uses it/)
  })

  test('names an expired certificate', async () => {
    const past = Date.parse('2020-01-01')
    const authority = await LocalAuthority.open(await makeLocalRoot('Test', past), () => past)
    const { certificatePem: cert, privateKeyPem: key } = await authority.issue(['adit.localhost'])
    const listener = createTlsServer({ cert, key: key.reveal() }).listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const { port } = listener.address() as { port: number }
    const found = await examined({ ADIT_HTTPS_ADDR: `127.0.0.1:${port}` })
    listener.close()
    assert.match(found.of('certificate')?.detail ?? '', /adit\.localhost expired on /)
    assert.equal(found.ok, false)
  })

  test('names a database that cannot be reached, without its password', async () => {
    const password = 'not-to-be-shown'
    const url = `postgres://adit:${password}@127.0.0.1:${await freePort()}/adit`
    const { code, stdout } = await runAdit(['doctor', '--json'], {
      ADIT_DATA_DIR: newFolder(),
      ADIT_API_ADDR: 'off',
      ...off,
      ADIT_DATABASE_URL: url,
    })
    assert.equal(code, 1)
    assert.match(stdout, /PostgreSQL cannot be reached \(ECONNREFUSED\)/)
    assert.ok(!stdout.includes(password))
  })

  test('names a low limit of open files', async () => {
    const settings = { ADIT_DATA_DIR: newFolder(), ADIT_API_ADDR: 'off', ADIT_ACME_DIRECTORY: 'off', ...off }
    const stdout = await new Promise<string>(resolve => {
      const line = `ulimit -n 512; exec "${program}" doctor --json`
      execFile('bash', ['-c', line], { env: { ...process.env, ...settings } }, (_error, text) =>
        resolve(text),
      )
    })
    const { checks } = JSON.parse(stdout) as { checks: Check[] }
    const check = checks.find(each => each.check === 'file limit')
    assert.deepEqual([check?.result, check?.detail], ['problem', 'only 512 open files'])
  })
})
