import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Folder } from '../support/folder.ts'
import { until } from '../support/until.ts'
import type { Figure } from './h2spec.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const SOON = { withinMs: 90_000 }
const API = 'http://127.0.0.1:4600'
const SETTINGS = [
  'acme_directory: off',
  // A port that the user of the service may open only by its capability.
  'http_addr: 127.0.0.1:80',
  'access_log: /var/log/adit/access.log',
]

/** systemd as process 1 of a machine with its own processes, mounts, network and control groups. */
class Machine implements AsyncDisposable {
  readonly #folder = new Folder()
  readonly #group: string
  readonly #manager: ReturnType<typeof spawn>
  #log = ''

  constructor() {
    const mounted = / (\S+) cgroup2 /.exec(readFileSync('/proc/mounts', 'utf8'))?.[1]
    if (mounted === undefined) throw new Error('There is no cgroup2 on this machine, which systemd needs.')
    this.#group = join(mounted, `adit-test-${process.pid}`)
    mkdirSync(this.#group)
    const script = 'echo $$ >"$1/cgroup.procs" && shift && exec unshare --kill-child --fork "$@"'
    const spaces = ['--pid', '--mount', '--uts', '--ipc', '--cgroup', '--net']
    const boot = join(import.meta.dirname, 'systemd-machine.sh')
    const args = ['-c', script, 'sh', this.#group, ...spaces, 'bash', boot, this.#folder.path, root]
    this.#manager = spawn('sh', args, { stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.#manager.stdout, this.#manager.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.#log += text))
  }

  /** Once systemd has started everything. */
  async started(): Promise<void> {
    await until(async () => (await this.attempt('systemctl is-system-running')) === 'running', {
      what: () => `systemd runs, after:\n${this.#log}`,
      ...SOON,
    })
  }

  /** The output of a shell line in the machine. */
  async sh(line: string): Promise<string> {
    const { stdout: children } = await run('pgrep', ['--parent', String(this.#manager.pid)])
    const spaces = ['--pid', '--mount', '--uts', '--ipc', '--cgroup', '--net', '--wd=/']
    const { stdout } = await run('nsenter', ['--target', children.trim(), ...spaces, 'sh', '-c', line])
    return stdout.trim()
  }

  /** The same, or why it failed. */
  attempt(line: string): Promise<string> {
    return this.sh(line).catch((error: unknown) => String(error))
  }

  property(name: string): Promise<string> {
    return this.sh(`systemctl show adit --property=${name} --value`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#manager, 'exit')
    this.#manager.kill('SIGKILL')
    await ended
    // Its groups can be removed when the last of its processes are gone.
    await until(
      () =>
        run('find', [this.#group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', '+']).then(
          () => true,
          () => false,
        ),
      { what: 'all processes of the machine have ended', ...SOON },
    )
    this.#folder[Symbol.dispose]()
  }
}

/** The commands of docs/operations.md, without those that download. */
const INSTALL = `
  useradd --system --home-dir /var/lib/adit --shell /usr/sbin/nologin adit
  install -d -m 0750 -g adit /etc/adit
  install -m 0644 /opt/adit/deploy/adit.service /etc/systemd/system/
  systemctl daemon-reload`

const configure = (machine: Machine, ...more: string[]): Promise<string> =>
  machine.sh(
    `printf '%s\\n' ${[...SETTINGS, ...more].map(line => `'${line}'`).join(' ')} >/etc/adit/server.yml`,
  )

const ready = (machine: Machine): Promise<string> => machine.attempt(`curl -sS ${API}/readyz`)

type Step = (machine: Machine) => Promise<void>

const steps: Readonly<Record<string, Step>> = {
  'is active when it serves, and not before': async machine => {
    await configure(machine)
    const [started] = await Promise.all([
      machine.sh('systemctl start adit && curl -sS http://127.0.0.1:4600/readyz'),
      until(async () => (await machine.property('ActiveState')) === 'activating', SOON),
    ])
    assert.match(started, /"ready"/)
    assert.equal(await machine.property('ActiveState'), 'active')
  },

  'names its files so that they are found from any folder': async machine => {
    assert.match(
      await machine.sh('journalctl --unit=adit --output=cat'),
      /stored in \/var\/lib\/adit\/api-key/,
    )
  },

  'applies changed settings by systemctl reload, in the same process': async machine => {
    const before = await machine.property('MainPID')
    await configure(machine, 'log_level: debug')
    await machine.sh('systemctl reload adit')
    assert.match(await machine.sh('journalctl --unit=adit --output=cat'), /"changed":\["log_level"\]/)
    assert.equal(await machine.property('MainPID'), before)
  },

  'writes its access log to LogsDirectory': async machine => {
    await machine.attempt('curl -sS http://127.0.0.1/ -H "Host: none.adit.localhost"')
    const read = () => machine.attempt('cat /var/log/adit/access.log')
    assert.match(
      await until(read, { fits: text => text.includes('none.adit'), ...SOON }),
      /none\.adit\.localhost/,
    )
    assert.equal(await machine.sh('stat -c "%U %a" /var/log/adit /var/lib/adit'), 'adit 750\nadit 700')
  },

  'has its sandbox': async machine => {
    const pid = await machine.property('MainPID')
    const inside = (line: string): Promise<string> =>
      machine.attempt(`nsenter --target ${pid} --mount sh -c '${line}'`)
    for (const path of ['/etc/x', '/opt/adit/x', '/usr/x'])
      assert.match(await inside(`touch ${path}`), /Read-only file system/)
    assert.equal(await inside('touch /tmp/x && echo written'), 'written')
    assert.match(await machine.attempt('ls /tmp/x'), /No such file/)
    assert.match(await inside('ls /root'), /^$|Permission denied/)
    const status = await machine.sh(`cat /proc/${pid}/status`)
    // Only CAP_NET_BIND_SERVICE, the tenth.
    for (const name of ['CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      assert.match(status, new RegExp(`^${name}:\\s+0{13}400$`, 'm'))
    assert.match(status, /^NoNewPrivs:\s+1$/m)
    assert.match(status, /^Seccomp:\s+2$/m)
  },

  'is replaced by a new process on SIGUSR2, beside the first one, which systemd watches': async machine => {
    const main = await machine.property('MainPID')
    await machine.sh('systemctl kill --kill-whom=main --signal=USR2 adit')
    const served = () => machine.attempt(`curl -sS -o /dev/null -w '%{http_code}' ${API}/healthz`)
    const starts = async (): Promise<number> => {
      assert.equal(await served(), '200')
      const log = await machine.sh('journalctl --unit=adit --output=cat')
      return log.split('Adit is running.').length
    }
    const earlier = await starts()
    await until(starts, { fits: count => count > earlier, ...SOON })
    assert.equal(await machine.property('MainPID'), main)
    assert.equal(await machine.property('ActiveState'), 'active')
    assert.equal(await machine.property('NRestarts'), '0')
  },

  'starts again after kill -9': async machine => {
    const before = await machine.property('MainPID')
    await machine.sh('systemctl kill --kill-whom=main --signal=KILL adit')
    await until(
      async () =>
        (await machine.property('NRestarts')) === '1' && (await machine.property('ActiveState')) === 'active',
      SOON,
    )
    assert.notEqual(await machine.property('MainPID'), before)
    assert.match(await ready(machine), /"ready"/)
  },

  'stops by systemctl stop, within its time': async machine => {
    await machine.sh('systemctl stop adit')
    assert.equal(await machine.property('Result'), 'success')
    assert.equal(await machine.property('ActiveState'), 'inactive')
  },

  'does not start again with a wrong setting, and says which': async machine => {
    await configure(machine, 'no_such_setting: 1')
    assert.match(await machine.attempt('systemctl start adit'), /failed/)
    // A unit that systemd starts again is "activating" until then.
    assert.equal(await machine.property('ActiveState'), 'failed')
    assert.equal(await machine.property('ExecMainStatus'), '2')
    assert.match(await machine.sh('journalctl --unit=adit --output=cat'), /no_such_setting/)
    await configure(machine)
    await machine.sh('systemctl start adit')
    assert.match(await ready(machine), /"ready"/)
  },
}

/** Runs deploy/adit.service by a real systemd. */
export async function runSystemd(): Promise<Figure> {
  await using machine = new Machine()
  await machine.started()
  await machine.sh(INSTALL)
  const lines: string[] = []
  for (const [name, step] of Object.entries(steps)) {
    const result = await step(machine).then(
      () => 'passed',
      (error: unknown) => `failed: ${String(error)}`,
    )
    lines.push(`systemd: the server ${name}: ${result}`)
  }
  return { text: lines.join('\n'), isGood: lines.every(line => line.endsWith(': passed')) }
}
