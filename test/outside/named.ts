import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const DEADLINE_MS = 300_000

interface NamedRun {
  readonly code: number
  readonly stdout: string
  /** With its standard error. */
  readonly output: string
}

/** Runs a program for which alone a name has the address of this machine: not every one can be reported an address. */
export function runNamed(dataDir: string, name: string, command: readonly string[]): Promise<NamedRun> {
  const hosts = join(dataDir, 'hosts')
  writeFileSync(hosts, `${readFileSync('/etc/hosts', 'utf8')}\n127.0.0.1 ${name}\n`)
  const script = 'mount --bind "$1" /etc/hosts && shift && exec "$@"'
  const args = ['--mount', 'sh', '-c', script, 'sh', hosts, ...command]
  return new Promise(resolve => {
    execFile('unshare', args, { timeout: DEADLINE_MS }, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code ?? 1)
      resolve({ code, stdout, output: stdout + stderr })
    })
  })
}
