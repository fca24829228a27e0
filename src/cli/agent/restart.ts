/** Why this agent cannot restart; empty when it can. */
export const restartExcuse = (): string =>
  process.platform === 'win32' ? 'an agent on Windows cannot replace its process' : ''

/**
 * Starts the program anew in this process: with the same number, terminal and supervisor, and with what is installed
 * by now. Returns only when that fails.
 */
export function replaceProcess(): number {
  // A single executable finds its own path in the place of a script.
  const isExecutable = process.argv[1] === process.execPath
  const args = [process.execPath, ...process.execArgv, ...process.argv.slice(isExecutable ? 2 : 1)]
  process.execve?.(process.execPath, args, process.env)
  return 1
}
