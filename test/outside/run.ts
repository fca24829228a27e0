import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { spawnServer } from '../support/server.ts'
import { runH2spec, type Figure } from './h2spec.ts'
import { runHttp2Clients } from './http2/clients.ts'
import { runSchemathesis } from './schemathesis.ts'
import { runWrappers } from './wrappers.ts'
import { newFolder } from '../support/folder.ts'

/** Attacks at their full length, and restarts under published SDKs; they start their own servers. */
const attacks = [
  'test/e2e/survive/dos-*.test.ts',
  'test/e2e/survive/blocks.test.ts',
  'test/e2e/compat/agent-sdk-handover.test.ts',
]

/** Runs programs of others against a started server, then the attacks, and prints what they found. */
const results: Figure[] = []
const dataDir = newFolder()
const server = await spawnServer(dataDir, { ADIT_LOG_LEVEL: 'error' })
try {
  for (const result of [
    await runH2spec(server, dataDir),
    await runHttp2Clients(server, dataDir),
    runSchemathesis(server),
  ]) {
    console.log(result.text)
    results.push(result)
  }
  const authtoken = readFileSync(join(dataDir, 'authtoken'), 'utf8').trim()
  const wrappers = await runWrappers(server, dataDir, authtoken)
  console.log(wrappers.text)
  results.push(wrappers)
  const ready = await server.api.get('/readyz')
  console.log(`the server afterwards: ${ready.status} ${JSON.stringify(ready.body)}`)
  results.push({ text: '', isGood: ready.status === 200 && ready.body.status === 'ready' })
} finally {
  await server.end('SIGTERM')
  rmSync(dataDir, { recursive: true })
}
results.push({ text: 'attacks', isGood: runAttacks() })
process.exitCode = results.every(({ isGood }) => isGood) ? 0 : 1

/**
 * In a network of their own, with packets as large as those of Ethernet: with the 64 KiB of loopback, a thousand
 * connections that are not read fill the memory that the kernel has for TCP, and delay everybody by retransmissions.
 */
function runAttacks(): boolean {
  const script = 'ip link set lo mtu 1500 up && exec "$@"'
  const command = [process.execPath, '--test', '--test-concurrency=1', ...attacks]
  const { status } = spawnSync('unshare', ['--net', 'sh', '-c', script, 'sh', ...command], {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, TEST_LONG: '1' },
    stdio: 'inherit',
  })
  return status === 0
}
