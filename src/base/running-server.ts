import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The record that a running server writes to its data folder, so that commands on the same machine find it. */
interface RunningServer {
  readonly pid: number
  /** Start time of the process in kernel ticks: a later process may have the same id. */
  readonly started: string
  readonly api_url?: string
  readonly agent_addr?: string
}

const NAME = 'server.json'
const DEFAULT_FOLDER = './data'

/** The data folder for commands on this machine. */
export const dataFolder = (environment: NodeJS.ProcessEnv): string =>
  environment['ADIT_DATA_DIR'] ?? DEFAULT_FOLDER

export function recordRunning(
  folder: string,
  addresses: Pick<RunningServer, 'api_url' | 'agent_addr'>,
): Disposable {
  const path = join(folder, NAME)
  const record: RunningServer = { pid: process.pid, started: startOf(process.pid), ...addresses }
  try {
    writeFileSync(path, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  } catch {
    // A full disk must not stop the server; commands then need the addresses as settings.
  }
  return {
    [Symbol.dispose]() {
      // A server that took over has written its own record.
      if (read(path)?.pid === process.pid) rmSync(path, { force: true })
    },
  }
}

/** The server of a data folder; undefined when none runs, even if its record was left behind. */
export function runningServer(folder: string): RunningServer | undefined {
  const record = read(join(folder, NAME))
  return record && isAlive(record) ? record : undefined
}

function read(path: string): RunningServer | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as RunningServer
  } catch {
    return undefined
  }
}

function isAlive({ pid, started }: RunningServer): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it runs under another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return startOf(pid) === started
}

/** Empty where the system has no /proc. */
function startOf(pid: number): string {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/^.*\) /s)
    return fields.split(' ')[19] ?? ''
  } catch {
    return ''
  }
}
