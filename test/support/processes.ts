import { readFileSync } from 'node:fs'

/** Empty when it has ended meanwhile. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

export const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

/** The gateway processes that a process has started. */
export const workersOf = (pid: number): number[] =>
  childrenOf(pid).filter(child => commandOf(child).includes('worker-program'))

/** The process of a supervisor that has the API and the database; undefined while there is none. */
export const firstProcessOf = (supervisor: number): number | undefined =>
  childrenOf(supervisor).find(child => /\0serve(\0|$)/.test(commandOf(child)))

/** Whether a process exists and has not ended: its first thread can end before others, which keep its sockets open. */
export function isAlive(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return !/^State:\s+Z/m.test(status) || !/^Threads:\s+[01]$/m.test(status)
  } catch {
    return false
  }
}

/** How many processes accept connections on a port. */
export function listenersOn(port: number): number {
  const address = `:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A `
  return readFileSync('/proc/net/tcp', 'utf8').split(address).length - 1
}
