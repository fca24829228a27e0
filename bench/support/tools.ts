import { spawnSync } from 'node:child_process'
import { accessSync, constants, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

/** Programs for the tunnel benchmark, and their Debian packages. */
const packages = {
  nginx: 'nginx-light',
  wrk: 'wrk',
  h2load: 'nghttp2-client',
  stunnel: 'stunnel4',
  sshd: 'openssh-server',
  ssh: 'openssh-client',
  openssl: 'openssl',
} as const

type Tool = keyof typeof packages | 'cargo' | 'curl' | 'go' | 'ip' | 'npm' | 'socat'

const folders = [
  ...(process.env['PATH'] ?? '').split(delimiter),
  '/usr/sbin',
  '/usr/local/go/bin',
  join(homedir(), '.cargo', 'bin'),
]

/** Where a program is; undefined when it is not installed. */
function toolPath(tool: Tool): string | undefined {
  return folders
    .map(folder => join(folder, tool))
    .find(file => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/** The path of a required program. */
export function needTool(tool: Tool): string {
  const path = toolPath(tool)
  if (path === undefined) throw new Error(`${tool} is not installed`)
  return path
}

/** What is missing, and the command that installs it; undefined when nothing is. */
export function missingTools(): string | undefined {
  const missing = Object.entries(packages).filter(([tool]) => toolPath(tool as Tool) === undefined)
  if (missing.length === 0) return undefined
  const names = missing.map(([tool]) => tool).join(', ')
  return `${names} missing: apt-get install ${missing.map(([, name]) => name).join(' ')}`
}

/** A folder that is kept between runs, for peers that are built or downloaded on demand. */
export function cacheFolder(name: string): string {
  const root = process.env['BENCH_CACHE'] ?? join(homedir(), '.cache', 'adit-bench')
  const folder = join(root, name)
  mkdirSync(folder, { recursive: true })
  return folder
}

const asked: Readonly<Partial<Record<Tool, string>>> = {
  nginx: '-v',
  wrk: '-v',
  h2load: '--version',
  stunnel: '-version',
  ssh: '-V',
  go: 'version',
  cargo: '--version',
}

/** The versions of the peers, in one line. */
export function toolVersions(): string {
  const found = Object.entries(asked).map(([tool, flag]) => {
    const path = toolPath(tool as Tool)
    const { stdout = '', stderr = '' } =
      path === undefined ? {} : spawnSync(path, [flag], { encoding: 'utf8' })
    const version = /\d+\.\d+(?:\.\d+)?(?:p\d+)?/.exec(stdout + stderr)?.[0]
    return `${tool} ${version ?? 'absent'}`
  })
  return `Programs: ${found.join(', ')}.`
}
