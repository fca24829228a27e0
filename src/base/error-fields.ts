import { Problem } from '#base/errors.ts'
import { jsonFault } from '#base/json-fault.ts'

/** Fields of Node and driver errors besides the message. */
const FACTS = ['code', 'errcode', 'status', 'syscall', 'address', 'port'] as const
const MAX_CAUSES = 4

/**
 * The loggable part of an error. Libraries attach arbitrary data to their errors: provider responses, database rows,
 * tokens. So only fields known to be harmless are taken.
 */
export function errorFields(error: unknown, causes = MAX_CAUSES): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : typeof error
  const facts = FACTS.flatMap(name => {
    const value: unknown = Reflect.get(error, name)
    return typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : []
  })
  const isCaused = error.cause instanceof Error && causes > 0
  // Node quotes invalid JSON, which may be anything.
  const message = error instanceof SyntaxError ? jsonFault(error) : error.message
  const isMistake = error instanceof Problem && error.status < 500
  return {
    type: error.name,
    message,
    // What a person can correct needs no place in the source.
    ...(!isMistake && { stack: error.stack?.replace(error.message, () => message) }),
    ...Object.fromEntries(facts),
    ...(isCaused && { cause: errorFields(error.cause, causes - 1) }),
  }
}
