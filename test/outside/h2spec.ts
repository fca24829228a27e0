import { execFile, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Watched } from '../cli/agent-support.ts'
import { overhear } from '../support/leaks.ts'
import { spawnAdit, type Process } from '../support/server.ts'
import * as tools from './tools.ts'

const HOST = 'h2spec.adit.localhost'

export interface Figure {
  readonly text: string
  readonly isGood: boolean
}

/**
 * Runs all cases of h2spec, the strict ones too, through a tunnel to a service that reads requests to their end: one
 * that answers before may be quicker than the frames that a case sends.
 */
export async function runH2spec(server: Process, dataDir: string): Promise<Figure> {
  const command = [join(import.meta.dirname, 'reading-service.ts')]
  await using service = new Watched(overhear(spawn(process.execPath, command), command))
  const [port] = await service.sees(/\d+/)
  const agent = ['http', port, '--name', 'h2spec', '--log', 'stdout', '--log-format', 'logfmt']
  const { host = '', port: agentPort = 0 } = server.bound.agent ?? {}
  await using tunnel = new Watched(
    spawnAdit(agent, { ADIT_DATA_DIR: dataDir, ADIT_SERVER_ADDR: `${host}:${agentPort}` }),
  )
  await tunnel.sees(/url=https:/)
  const stdout = await h2spec(dataDir, String(server.bound.https?.port))
  const [, total = '', passed = '', skipped = '', failed = ''] =
    /(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed/.exec(stdout) ?? []
  const failures = stdout.slice(stdout.indexOf('Failures:')).trim()
  return {
    text: `h2spec: ${passed} of ${total} cases passed, ${skipped} skipped, ${failed} failed\n${failures}`,
    isGood: total !== '' && Number(failed) === 0,
  }
}

/** It has no option for the name to ask for, so the name gets the address of this machine, for h2spec alone. */
function h2spec(dataDir: string, port: string): Promise<string> {
  const hosts = join(dataDir, 'hosts')
  writeFileSync(hosts, `${readFileSync('/etc/hosts', 'utf8')}\n127.0.0.1 ${HOST}\n`)
  const script = 'mount --bind "$1" /etc/hosts && shift && exec "$@"'
  const command = [tools.h2spec(), '--host', HOST, '--port', port, '--tls', '--insecure', '--strict']
  return new Promise(resolve => {
    // It ends with 1 when a case fails, which its output tells better.
    execFile('unshare', ['--mount', 'sh', '-c', script, 'sh', hosts, ...command], (_, stdout) =>
      resolve(stdout),
    )
  })
}
