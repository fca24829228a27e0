import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder } from '../support/folder.ts'
import { spawnServer } from '../support/server.ts'
import { runEarlier } from './earlier.ts'
import { runH2spec, type Figure } from './h2spec.ts'
import { runHttp2Clients } from './http2/clients.ts'
import { runPostgres } from './postgres.ts'
import { runSchemathesis } from './schemathesis.ts'
import { runSystemd } from './systemd.ts'
import { runWrappers } from './wrappers.ts'

/** Attacks at their full length, and restarts under published SDKs; they start their own servers. */
const attacks = [
  'test/e2e/survive/dos-*.test.ts',
  'test/e2e/survive/blocks.test.ts',
  'test/e2e/compat/agent-sdk-handover.test.ts',
]

/** Programs of others against a started server. */
async function runPrograms(): Promise<Figure[]> {
  const results: Figure[] = []
  const dataDir = newFolder()
  const server = await spawnServer(dataDir, { ADIT_LOG_LEVEL: 'error' })
  try {
    results.push(await runH2spec(server, dataDir), await runHttp2Clients(server, dataDir))
    results.push(runSchemathesis(server))
    const authtoken = readFileSync(join(dataDir, 'authtoken'), 'utf8').trim()
    results.push(await runWrappers(server, dataDir, authtoken))
    const { status, body } = await server.api.get('/readyz')
    const isGood = status === 200 && body.status === 'ready'
    results.push({ text: `the server afterwards: ${status} ${JSON.stringify(body)}`, isGood })
  } finally {
    await server.end('SIGTERM')
    rmSync(dataDir, { recursive: true })
  }
  return results
}

/**
 * In a network of their own, with packets as large as those of Ethernet: with the 64 KiB of loopback, a thousand
 * connections that are not read fill the memory that the kernel has for TCP, and delay everybody by retransmissions.
 */
function runAttacks(): Figure {
  const script = 'ip link set lo mtu 1500 up && exec "$@"'
  const command = [process.execPath, '--test', '--test-concurrency=1', ...attacks]
  const { status } = spawnSync('unshare', ['--net', 'sh', '-c', script, 'sh', ...command], {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, TEST_LONG: '1' },
    stdio: 'inherit',
  })
  return { text: `attacks: ${status === 0 ? 'passed' : 'failed'}`, isGood: status === 0 }
}

/** A part by its name, with what follows a colon: `postgres:16,17`. */
const parts: Readonly<Record<string, (chosen: readonly string[]) => Promise<Figure[]>>> = {
  programs: runPrograms,
  attacks: async () => [runAttacks()],
  systemd: async () => [await runSystemd()],
  earlier: runEarlier,
  postgres: async versions => [await runPostgres(versions)],
}

const wanted = process.argv.slice(2)
const results: Figure[] = []
for (const text of wanted.length > 0 ? wanted : Object.keys(parts)) {
  const [name = '', chosen] = text.split(':')
  const part = parts[name]
  if (!part) throw new Error(`there is no part ${name}: ${Object.keys(parts).join(', ')}`)
  results.push(...(await part(chosen?.split(',') ?? [])))
}
for (const { text } of results) console.log(text)
process.exitCode = results.every(({ isGood }) => isGood) ? 0 : 1
