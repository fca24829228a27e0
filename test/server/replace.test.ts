import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Namespace } from '../domains/namespace.ts'
import { freePort } from '../support/free-ports.ts'
import { Caller } from '../support/server.ts'
import { logged, refused, start } from './program.ts'
import { Folder } from '../support/folder.ts'

suite('SIGUSR2 replaces the server', () => {
  for (const workers of ['1', '2'])
    test(`without a call that fails, and again and again (workers: ${workers})`, async () => {
      await using namespace = new Namespace([])
      // With this setting Linux loses no connection when a listener closes; docs/operations.md recommends it.
      await namespace.output(['sh', '-c', 'echo 1 >/proc/sys/net/ipv4/tcp_migrate_req'])
      const program = fileURLToPath(new URL('replacing-program.ts', import.meta.url))
      assert.match(await namespace.output([process.execPath, program, workers]), /^\d+ calls$/m)
    })

  test('a server that cannot start leaves the old one as it is', async () => {
    using folder = new Folder()
    const config = join(folder.path, 'server.yml')
    writeFileSync(config, 'region: eu\n')
    await using program = await start({ ADIT_DATA_DIR: folder.path }, ['--config', config])
    writeFileSync(config, 'region: [\n')
    program.child.kill('SIGUSR2')
    await logged(program, 'the server was not replaced and continues')
    const key = readFileSync(join(folder.path, 'api-key'), 'utf8').trim()
    const made = await new Caller(program.url, key).post('/ip_policies')
    assert.equal(made.status, 201)
    writeFileSync(config, 'region: eu\n')
    program.child.kill('SIGUSR2')
    await logged(program, 'a new process serves')
    assert.equal(await program.end('SIGTERM'), 0)
  })
})

test('a second server on the same ports is refused', async () => {
  using folder = new Folder()
  using other = new Folder()
  const taken = { ADIT_HTTP_ADDR: `127.0.0.1:${await freePort()}` }
  await using program = await start({ ADIT_DATA_DIR: folder.path, ...taken })
  assert.equal(program.child.exitCode, null)
  const { code, stderr } = await refused({ ADIT_DATA_DIR: other.path, ...taken })
  assert.equal(code, 1)
  assert.match(stderr, /cannot listen on .*ADIT_HTTP_ADDR.*another program uses it/)
})
