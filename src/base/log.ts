import { jsonFault } from '#base/json-fault.ts'
import type { LogLevel } from '#base/log-levels.ts'
import { pino, type DestinationStream, type Logger } from 'pino'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>
/** For parts that are used without a log. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** Lines that could not be written are kept for a later one up to here; what comes beyond is lost. */
const MAX_UNWRITTEN = 1_048_576

/** JSON lines on standard error: standard output belongs to what a person or a script asked for. */
function standardError(): DestinationStream {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: MAX_UNWRITTEN })
  // Without a listener a disk that is full would throw in whatever code writes a line.
  destination.on('error', () => undefined)
  return destination
}

export const createLog = (level: LogLevel, to: DestinationStream = standardError()): Log =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // An Error has no enumerable properties: without this it is written as {}.
      serializers: { error: errorFields, err: errorFields },
    },
    to,
  )

/** What errors of Node and of drivers say beside their message. */
const FACTS = ['code', 'errcode', 'status', 'syscall', 'address', 'port'] as const
const MAX_CAUSES = 4

/**
 * What the log tells of an error. Libraries hang whatever they had at hand on their errors: answers of providers,
 * rows of the database, tokens. So only what is known to be harmless is taken.
 */
export function errorFields(error: unknown, causes = MAX_CAUSES): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : typeof error
  const facts = FACTS.flatMap(name => {
    const value: unknown = Reflect.get(error, name)
    return typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : []
  })
  const isCaused = error.cause instanceof Error && causes > 0
  // What is no JSON is quoted by Node, and may be anything.
  const message = error instanceof SyntaxError ? jsonFault(error) : error.message
  return {
    type: error.name,
    message,
    stack: error.stack?.replace(error.message, () => message),
    ...Object.fromEntries(facts),
    ...(isCaused && { cause: errorFields(error.cause, causes - 1) }),
  }
}
