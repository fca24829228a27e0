import { ownArguments } from '#base/own-program.ts'

/** Why this agent cannot restart; empty when it can. */
export const restartExcuse = (): string =>
  process.platform === 'win32' ? 'an agent on Windows cannot replace its process' : ''

/**
 * Replaces the process image: same process id, terminal and supervisor, with the currently installed program. Returns
 * only when that fails.
 */
export function replaceProcess(): number {
  process.execve?.(process.execPath, [process.execPath, ...ownArguments()], process.env)
  return 1
}
