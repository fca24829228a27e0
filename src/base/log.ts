import { jsonFault } from '#base/json-fault.ts'
import type { LogLevel } from '#base/log-levels.ts'
import { pino, type DestinationStream, type Logger } from 'pino'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>

/** JSON lines on standard error: standard output belongs to what a person or a script asked for. */
const standardError = (): DestinationStream => pino.destination({ dest: 2, sync: true })

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
