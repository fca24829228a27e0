import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
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

export interface Account {
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

function programs(): string {
  const initdb = globSync('/usr/lib/postgresql/*/bin/initdb').toSorted().at(-1)
  if (initdb === undefined) throw new Error('PostgreSQL is missing: run scripts/install-test-parts.sh.')
  return dirname(initdb)
}

/** With owners and permissions, which PostgreSQL checks. */
const copy = (from: string, to: string): Buffer => execFileSync('cp', ['--archive', from, to])

const hasEnded = (server: ChildProcess | undefined): boolean =>
  server === undefined || server.exitCode !== null || server.signalCode !== null

/** `settings` (`name=value`) are for what the tests' own would falsify. */
export async function startPostgres(settings: readonly string[] = []): Promise<TestPostgres> {
  const cluster = await newCluster([...SETTINGS, ...settings])
  return cluster.startAfter(() => cluster.initialise())
}

async function newCluster(settings: readonly string[]): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'adit-pg-'))
  const user = account()
  if (user) chownSync(folder, user.uid, user.gid)
  return new Cluster({ folder, user, bin: programs(), settings })
}

class Cluster implements TestPostgres {
  readonly #folder: string
  readonly #user: Account | undefined
  readonly #bin: string
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
    bin: string
    settings: readonly string[]
  }) {
    this.#folder = options.folder
    this.#user = options.user
    this.#bin = options.bin
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
    const template = join(root, 'node_modules/.cache', `postgres-${basename(dirname(this.#bin))}`)
    if (existsSync(template)) return void copy(template, this.#data)
    const options = ['--pgdata', this.#data, '--username=postgres', '--auth=trust', '--encoding=UTF8']
    // A locale whose order differs from that of bytes, as databases in production have.
    options.push('--locale-provider=icu', '--icu-locale=en-US', '--locale=C.UTF-8')
    options.push('--no-sync')
    execFileSync(join(this.#bin, 'initdb'), options, { ...this.#user, cwd: this.#folder, stdio: 'pipe' })
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
    const standby = await newCluster(this.#settings)
    await standby.startAfter(() => standby.#copyOf(this))
    await this.administer(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await this.administer('SELECT pg_reload_conf()')
    return standby
  }

  promote(): Promise<void> {
    return this.administer('SELECT pg_promote()')
  }

  #copyOf(primary: Cluster): void {
    const options = ['--pgdata', this.#data, '--write-recovery-conf', '--checkpoint=fast', '--no-sync']
    options.push('--host', primary.#folder, '--username=postgres')
    execFileSync(join(this.#bin, 'pg_basebackup'), options, {
      ...this.#user,
      cwd: this.#folder,
      stdio: 'pipe',
    })
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
    const server = spawn(join(this.#bin, 'postgres'), ['-D', this.#data, ...settings], {
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
