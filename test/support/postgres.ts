import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { until } from './until.ts'

const root = join(import.meta.dirname, '../..')
const START_TIMEOUT_MS = 60_000

/** Small memory and a private socket. Tests kill processes, never the machine, so that nothing need reach the disk. */
const SETTINGS = ['listen_addresses=', 'shared_buffers=16MB', 'max_connections=60', 'fsync=off']

/** A PostgreSQL server of the test, on a private unix socket. */
export interface TestPostgres {
  /** The maintenance database. */
  readonly url: string
  /** Creates an empty database and resolves to its URL. */
  newDatabase(): Promise<string>
  /** SIGKILL: nothing is flushed, connections break. */
  crash(): Promise<void>
  /** Starts it again on the same folder, recovering what was committed. */
  restart(): Promise<void>
  /** Runs a statement of the administrator. */
  administer(text: string): Promise<void>
  /** Starts a standby; from now on every commit waits for it. */
  startStandby(): Promise<TestPostgres>
  /** Makes a standby the primary. */
  promote(): Promise<void>
  /** Ends it and removes its folder. */
  stop(): Promise<void>
}

interface Account {
  readonly uid: number
  readonly gid: number
}

/** PostgreSQL refuses to run as root, so root lends it Debian's account. */
export function account(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const line = readFileSync('/etc/passwd', 'utf8').match(/^postgres:[^:]*:(\d+):(\d+):/m)
  if (line === null) throw new Error('There is no user "postgres": run scripts/install-test-parts.sh.')
  return { uid: Number(line[1]), gid: Number(line[2]) }
}

interface Programs {
  readonly folder: string
  readonly majorVersion: number
  /** A data folder that these programs have made. */
  readonly template: string
}

/** Those in a chosen folder; by default the newest of Debian. */
function programsIn(chosen: string | undefined): Programs {
  const folder = chosen ?? ofDebian()
  const text = execFileSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' })
  const majorVersion = Number(/ (\d+)\./.exec(text)?.[1])
  const template =
    chosen === undefined
      ? join(root, `node_modules/.cache/postgres-${majorVersion}`)
      : join(dirname(chosen), 'template')
  return { folder, majorVersion, template }
}

function ofDebian(): string {
  const initdb = globSync('/usr/lib/postgresql/*/bin/initdb').toSorted().at(-1)
  if (initdb === undefined) throw new Error('PostgreSQL is missing: run scripts/install-test-parts.sh.')
  return dirname(initdb)
}

/** A standby gets the log from the primary; the rest is of the running server. */
const NOT_COPIED: ReadonlySet<string> = new Set([
  'pg_wal',
  'pg_stat_tmp',
  'postmaster.pid',
  'postmaster.opts',
])
const FOLDERS = ['pg_wal', 'pg_stat_tmp']

/** With owners and permissions, which PostgreSQL checks. */
const copy = (from: string, to: string): Buffer => execFileSync('cp', ['--archive', from, to])

/** What a running server removes or replaces meanwhile: its log or the server itself restores it. */
const EXPECTED_LOSS = /: No such file or directory$|pg_internal\.init/

/** Copies parts of the folder of a running server; packages of its other versions have no `pg_basebackup`. */
function copyRunning(
  parts: readonly string[],
  to: string,
  as: Partial<Account> & { readonly cwd: string },
): void {
  const env = { ...process.env, LC_ALL: 'C' }
  const { status, stderr } = spawnSync('cp', ['--archive', ...parts, to], { ...as, env, encoding: 'utf8' })
  const failures = stderr.split('\n').filter(line => line !== '' && !EXPECTED_LOSS.test(line))
  if (failures.length > 0 || (status !== 0 && stderr === ''))
    throw new Error(`cp ended with ${status}: ${stderr}`)
}

const hasEnded = (server: ChildProcess | undefined): boolean =>
  server === undefined || server.exitCode !== null || server.signalCode !== null

/**
 * `settings` (`name=value`) are for what the tests' own would falsify. TEST_POSTGRES names a folder with the programs of
 * another version.
 */
export async function startPostgres(
  settings: readonly string[] = [],
  programs = process.env['TEST_POSTGRES'],
): Promise<TestPostgres> {
  const cluster = await newCluster([...SETTINGS, ...settings], programsIn(programs))
  return cluster.startAfter(() => cluster.initialise())
}

async function newCluster(settings: readonly string[], programs: Programs): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'adit-pg-'))
  const user = account()
  if (user) chownSync(folder, user.uid, user.gid)
  return new Cluster({ folder, user, programs, settings })
}

class Cluster implements TestPostgres {
  readonly #folder: string
  readonly #user: Account | undefined
  readonly #programs: Programs
  readonly #settings: readonly string[]
  #server: ChildProcess | undefined
  #databases = 0
  #log = ''
  /** For a test process that ends without having called `stop`. */
  readonly #onExit = () => {
    this.#server?.kill('SIGQUIT')
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 })
  }

  constructor(options: {
    folder: string
    user: Account | undefined
    programs: Programs
    settings: readonly string[]
  }) {
    this.#folder = options.folder
    this.#user = options.user
    this.#programs = options.programs
    this.#settings = options.settings
    process.on('exit', this.#onExit)
  }

  get url(): string {
    return this.#urlOf('postgres')
  }

  async startAfter(prepare: () => void): Promise<this> {
    try {
      prepare()
      await this.restart()
    } catch (error) {
      await this.stop()
      throw error
    }
    return this
  }

  /** Copies a cluster that the first test on this machine made: `initdb` takes longer than many tests. */
  initialise(): void {
    const { template, majorVersion } = this.#programs
    if (existsSync(template)) return void copy(template, this.#data)
    const options = ['--pgdata', this.#data, '--username=postgres', '--auth=trust', '--encoding=UTF8']
    options.push('--locale=C.UTF-8', '--no-sync')
    // A locale whose order differs from that of bytes, as databases in production have; older versions have none of ICU.
    if (majorVersion >= 15) options.push('--locale-provider=icu', '--icu-locale=en-US')
    execFileSync(this.#program('initdb'), options, { ...this.#user, cwd: this.#folder, stdio: 'pipe' })
    const made = `${template}-${process.pid}`
    mkdirSync(dirname(template), { recursive: true })
    copy(this.#data, made)
    try {
      renameSync(made, template)
    } catch {
      // Another test was faster.
      rmSync(made, { recursive: true })
    }
  }

  async newDatabase(): Promise<string> {
    this.#databases += 1
    const name = `test_${this.#databases}`
    await this.administer(`CREATE DATABASE ${name}`)
    return this.#urlOf(name)
  }

  async startStandby(): Promise<TestPostgres> {
    const standby = await newCluster(this.#settings, this.#programs)
    const label = await this.#copyTo(standby.#data)
    await standby.startAfter(() => standby.#follow(this, label))
    await this.administer(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await this.administer('SELECT pg_reload_conf()')
    return standby
  }

  promote(): Promise<void> {
    return this.administer('SELECT pg_promote()')
  }

  /** A copy of the folder while the server runs; resolves to the label that makes it consistent. */
  async #copyTo(data: string): Promise<string> {
    const [begin, end] =
      this.#programs.majorVersion >= 15
        ? [`pg_backup_start('standby', fast => true)`, 'pg_backup_stop(wait_for_archive => false)']
        : [`pg_start_backup('standby', true, false)`, 'pg_stop_backup(false, false)']
    const client = new pg.Client({ connectionString: this.url })
    await client.connect()
    try {
      await client.query(`SELECT ${begin}`)
      const parts = readdirSync(this.#data).filter(name => !NOT_COPIED.has(name))
      const as = { ...this.#user, cwd: this.#data }
      execFileSync('mkdir', ['--mode=700', data, ...FOLDERS.map(name => join(data, name))], as)
      copyRunning(parts, data, as)
      const { rows } = await client.query<{ labelfile: string }>(`SELECT labelfile FROM ${end}`)
      return rows[0]?.labelfile ?? ''
    } finally {
      await client.end()
    }
  }

  #follow(primary: Cluster, label: string): void {
    writeFileSync(join(this.#data, 'backup_label'), label)
    writeFileSync(join(this.#data, 'standby.signal'), '')
    const settings = `primary_conninfo = 'host=${primary.#folder} user=postgres'\n`
    writeFileSync(join(this.#data, 'postgresql.auto.conf'), settings)
    if (this.#user)
      for (const name of ['backup_label', 'standby.signal', 'postgresql.auto.conf'])
        chownSync(join(this.#data, name), this.#user.uid, this.#user.gid)
  }

  crash(): Promise<void> {
    return this.#end('SIGKILL')
  }

  async restart(): Promise<void> {
    await this.#end('SIGINT')
    const answers = async (): Promise<boolean> => {
      if (await this.#answers()) return true
      // After a crash the new server gives up until the last of the old one's processes are gone.
      if (hasEnded(this.#server)) this.#spawn()
      return false
    }
    const what = () => `PostgreSQL starts, after:\n${this.#log}`
    await until(answers, { what, withinMs: START_TIMEOUT_MS, next: () => sleep(50) })
  }

  async stop(): Promise<void> {
    await this.#end('SIGINT')
    process.off('exit', this.#onExit)
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 })
  }

  #program(name: string): string {
    return join(this.#programs.folder, name)
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  #urlOf(database: string): string {
    return `postgresql://postgres@localhost/${database}?host=${encodeURIComponent(this.#folder)}`
  }

  #spawn(): void {
    const settings = [`unix_socket_directories=${this.#folder}`, ...this.#settings].flatMap(one => [
      '-c',
      one,
    ])
    const server = spawn(this.#program('postgres'), ['-D', this.#data, ...settings], {
      ...this.#user,
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#log = `${this.#log}${text}`.slice(-4000)
    })
    this.#server = server
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined || hasEnded(server)) return
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }

  #answers(): Promise<boolean> {
    return this.administer('SELECT 1').then(
      () => true,
      () => false,
    )
  }

  async administer(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.url })
    // A server that ends in the middle of this is reported by the query.
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query(text)
    } finally {
      await client.end()
    }
  }
}
