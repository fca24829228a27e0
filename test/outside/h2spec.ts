import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { WatchedProcess } from '../cli/agent-support.ts'
import { recordOutput } from '../support/leaks.ts'
import { spawnAdit, type Process } from '../support/server.ts'
import { runNamed } from './named.ts'
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
  const program = [join(import.meta.dirname, 'reading-service.ts')]
  await using service = new WatchedProcess(recordOutput(spawn(process.execPath, program), program))
  const [port] = await service.waitForOutput(/\d+/)
  const agent = ['http', port, '--name', 'h2spec', '--log', 'stdout', '--log-format', 'logfmt']
  const { host = '', port: agentPort = 0 } = server.bound.agent ?? {}
  await using tunnel = new WatchedProcess(
    spawnAdit(agent, { ADIT_DATA_DIR: dataDir, ADIT_SERVER_ADDR: `${host}:${agentPort}` }),
  )
  await tunnel.waitForOutput(/url=https:/)
  const command = [tools.h2spec(), '--host', HOST, '--port', String(server.bound.https?.port)]
  // Its exit code is 1 when a case fails; its output is more precise.
  const { stdout } = await runNamed(dataDir, HOST, [...command, '--tls', '--insecure', '--strict'])
  const [, total = '', passed = '', skipped = '', failed = ''] =
    /(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed/.exec(stdout) ?? []
  const failures = stdout.slice(stdout.indexOf('Failures:')).trim()
  return {
    text: `h2spec: ${passed} of ${total} cases passed, ${skipped} skipped, ${failed} failed\n${failures}`,
    isGood: total !== '' && Number(failed) === 0,
  }
}
