import { ownArguments } from '#base/own-program.ts'

/** Why this agent cannot restart; empty when it can. */
export const restartExcuse = (): string =>
  process.platform === 'win32' ? 'an agent on Windows cannot replace its process' : ''

/**
 * Starts the program anew in this process: with the same number, terminal and supervisor, and with what is installed
 * by now. Returns only when that fails.
 */
export function replaceProcess(): number {
  process.execve?.(process.execPath, [process.execPath, ...ownArguments()], process.env)
  return 1
}
