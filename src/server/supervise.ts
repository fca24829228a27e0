import { extname, join } from 'node:path'
import { isSea } from 'node:sea'
import type { LogLevel } from '#base/log-levels.ts'
import { ownArguments, ownNodeOptions } from '#base/own-program.ts'

/** Starts the single executable as a supervisor. */
export const SUPERVISOR_ARGUMENT = 'adit-supervisor'

/**
 * Becomes the supervisor of this command: the same process with another program, so that the service manager sees no
 * change and the memory of this one is released. Returns only on systems where a process cannot do that.
 */
export function supervise(level: LogLevel): void {
  if (process.platform === 'win32' || process.execve === undefined) return
  const program = isSea()
    ? SUPERVISOR_ARGUMENT
    : join(import.meta.dirname, `supervisor-program${extname(import.meta.filename)}`)
  process.execve(process.execPath, [process.execPath, ...ownNodeOptions(), program, level, ...ownArguments()])
}
