import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { Folder } from './folder.ts'
import { account } from './postgres.ts'
import { atHost, hostOf } from './postgres-relay.ts'
import { until } from './until.ts'

const PROGRAM = '/usr/sbin/pgbouncer'

interface PgBouncer extends AsyncDisposable {
  /** The database, through the pooler. */
  readonly url: string
}

/** Debian's PgBouncer before a database, on a private socket. */
export async function startPgBouncer(url: string, mode: 'session' | 'transaction'): Promise<PgBouncer> {
  if (!existsSync(PROGRAM)) throw new Error('PgBouncer is missing: run scripts/install-test-parts.sh.')
  const own = new Folder()
  const folder = own.path
  const user = account()
  chmodSync(folder, 0o755)
  if (user) chownSync(folder, user.uid, user.gid)
  const users = join(folder, 'users.txt')
  writeFileSync(users, '"postgres" ""\n')
  const file = join(folder, 'pgbouncer.ini')
  const settings = [
    '[databases]',
    `* = host=${hostOf(url)}`,
    '[pgbouncer]',
    'listen_addr =',
    `unix_socket_dir = ${folder}`,
    'listen_port = 5432',
    'auth_type = trust',
    `auth_file = ${users}`,
    `pool_mode = ${mode}`,
  ]
  writeFileSync(file, `${settings.join('\n')}\n`)
  const child = spawn(PROGRAM, ['-q', file], { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  // The file is there before PgBouncer listens.
  await until(() => child.exitCode !== null || accepts(join(folder, '.s.PGSQL.5432')), {
    what: () => `PgBouncer listens, after:\n${said}`,
    withinMs: 30_000,
  })
  if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${said}`)
  return {
    url: atHost(url, folder),
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      own[Symbol.dispose]()
    },
  }
}

const accepts = (path: string): Promise<boolean> =>
  new Promise(resolve => {
    const socket = createConnection(path)
    socket.once('error', () => resolve(false))
    socket.once('connect', () => resolve(true)).once('connect', () => socket.destroy())
  })
