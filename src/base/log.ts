import { errorFields } from '#base/error-fields.ts'
import type { LogLevel } from '#base/log-levels.ts'
import { terminalLine } from '#base/terminal-log.ts'
import { pino, type DestinationStream, type Logger } from 'pino'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>
/** For parts that run without a log. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** Lines that could not be written are buffered up to this size; more are dropped. */
const MAX_UNWRITTEN = 1_048_576

/** JSON lines on standard error, since standard output is for command output; on a terminal, lines for people. */
function standardError(): DestinationStream {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: MAX_UNWRITTEN })
  // Without a listener a full disk would throw in the code that writes a line.
  destination.on('error', () => undefined)
  if (!process.stderr.isTTY) return destination
  const isColoured = process.stderr.hasColors()
  return { write: line => destination.write(terminalLine(line, isColoured)) }
}

export const createLog = (level: LogLevel, to: DestinationStream = standardError()): Log =>
  pino(
    {
      level,
      base: null,
      formatters: { level: name => ({ level: name }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      // An Error has no enumerable properties: without this it would be logged as {}.
      serializers: { error: errorFields, err: errorFields },
    },
    to,
  )

/** Changes the level of a log of `createLog`; others have none. */
export function setLogLevel(log: Log, level: LogLevel): void {
  if ('level' in log) Object.assign(log, { level })
}
