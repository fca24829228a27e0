import { openSync, writeSync } from 'node:fs'
import { OWNER_ONLY } from '#cli/agent/config-file.ts'
import { ConfigError } from '#cli/failure.ts'

/** Unread bytes after which lines are dropped. */
const MAX_WAITING = 1_048_576

/** Writes whole lines. A log that cannot be written must not affect tunnels. */
export type LogOutput = (text: string) => void

/** A program that started the agent may never read its output, which must not fill the memory. */
export const streamOutput =
  (stream: NodeJS.WriteStream): LogOutput =>
  text => {
    if (stream.writableLength < MAX_WAITING) stream.write(text)
  }

export function fileOutput(path: string): LogOutput {
  const file = opened(path)
  return text => {
    try {
      writeSync(file, text)
    } catch {
      // A full disk: the line is lost, later ones may fit again.
    }
  }
}

function opened(path: string): number {
  try {
    return openSync(path, 'a', OWNER_ONLY)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    throw new ConfigError(
      `the log file ${path} cannot be opened: ${code}. Choose another with --log, or use --log stdout.`,
    )
  }
}
