import { execFile } from 'node:child_process'
import type { Log } from '#base/log.ts'

const TIMEOUT_MS = 5000

type ServiceState = 'ready' | 'reloading' | 'stopping'

const assignments: Readonly<Record<ServiceState, () => readonly string[]>> = {
  ready: () => ['READY=1'],
  reloading: () => ['RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`],
  stopping: () => ['STOPPING=1'],
}

/**
 * Reports the state of this server to systemd (sd_notify(3)), if it is configured. Node has no datagram sockets in the file
 * system; every system with systemd has its program. Never rejects: a server that cannot report its state still serves.
 */
export function notifyServiceManager(state: ServiceState, log: Log): Promise<void> {
  if (process.env['NOTIFY_SOCKET'] === undefined) return Promise.resolve()
  return new Promise(resolve => {
    execFile('systemd-notify', assignments[state](), { timeout: TIMEOUT_MS }, error => {
      if (error) log.warn({ state, error }, 'the service manager was not notified')
      resolve()
    })
  })
}
