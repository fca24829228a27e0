import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { freePort } from './free-ports.ts'
import { until } from './until.ts'
import type { Folder } from './folder.ts'

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end. Its exit code is part of the answer, not an exception. */
export function run(program: string, args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { timeout: 60_000 }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(error)
      else resolve({ code: Number(error?.code ?? 0), stdout, stderr })
    })
  })
}

/** Runs a program that must succeed. */
export async function runOrThrow(program: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(program, args)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr}`)
  return stdout
}

/** Makes a key pair with ssh-keygen, the private one in `name`, and returns the public line. */
export async function newSshKey(folder: Folder, name: string, type: string, bits?: number): Promise<string> {
  const size = bits === undefined ? [] : ['-b', String(bits)]
  await runOrThrow(
    'ssh-keygen',
    '-q',
    '-t',
    type,
    ...size,
    '-N',
    '',
    '-C',
    `${name}@test`,
    '-f',
    folder.file(name),
  )
  return (await folder.read(`${name}.pub`)).trim()
}

export interface Sshd extends AsyncDisposable {
  readonly port: number
  /** What it has logged so far. */
  log(): string
  /** Resolves when it has logged a match behind the given position, which may be after ssh has ended. */
  logs(pattern: RegExp, from?: number): Promise<void>
}

/** Certificates are the only way in. */
const SSHD_CONFIG = [
  'UsePAM no',
  'PidFile none',
  'StrictModes no',
  'PasswordAuthentication no',
  'KbdInteractiveAuthentication no',
  'PermitRootLogin prohibit-password',
  'AuthorizedKeysFile none',
  'LogLevel VERBOSE',
]

/** Starts a real sshd on a loopback port with the given lines in its configuration. */
export async function startSshd(folder: Folder, lines: readonly string[]): Promise<Sshd> {
  const port = await freePort()
  const config = await folder.write(
    `sshd-${port}.conf`,
    [`ListenAddress 127.0.0.1:${port}`, ...SSHD_CONFIG, ...lines].join('\n'),
  )
  // sshd separates its privileges in this folder, which is missing where no service manager made it.
  await mkdir('/run/sshd', { recursive: true, mode: 0o755 })
  const child = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  let log = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (log.includes('Server listening')) resolve()
    })
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`sshd did not start: ${log}`)))
  })
  return {
    port,
    log: () => log,
    async logs(pattern, from = 0) {
      await until(() => log.slice(from), { what: `a line of sshd`, fits: text => pattern.test(text) })
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Starts an ssh-agent that holds one key of the folder and the certificate beside it. */
export async function startSshAgent(
  folder: Folder,
  key: string,
): Promise<AsyncDisposable & { socket: string }> {
  const socket = folder.file('agent.sock')
  const child = spawn('ssh-agent', ['-D', '-a', socket], { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  await runOrThrow('env', `SSH_AUTH_SOCK=${socket}`, 'ssh-add', '-q', folder.file(key))
  return {
    socket,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Runs a command on an sshd as root with ssh, which reads no configuration of the user who runs the test. */
export function ssh(sshd: Sshd, options: readonly string[], command: string): Promise<Outcome> {
  const fixed = [
    'BatchMode=yes',
    'StrictHostKeyChecking=yes',
    'GlobalKnownHostsFile=/dev/null',
    'IdentityAgent=none',
    'IdentitiesOnly=yes',
    'LogLevel=ERROR',
    'ConnectTimeout=10',
  ]
  // ssh takes the first value it meets, so the options given come before ours.
  const flags = [...options, ...fixed].flatMap(option => ['-o', option])
  return run('ssh', ['-F', '/dev/null', ...flags, '-p', String(sshd.port), 'root@127.0.0.1', command])
}
