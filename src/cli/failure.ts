import type { CatalogEntry } from '#base/catalog/entry.ts'
import { catalog } from '#base/catalog.ts'
import { ApiError, ArgumentError, UnreachableError } from '#client/errors.ts'
import { printable } from '#cli/printable.ts'

/** Wrong usage. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** No API key. */
export class NoKeyError extends Error {
  override readonly name = 'NoKeyError'
}

/** Cancelled by the user. */
export class DeclinedError extends Error {
  override readonly name = 'DeclinedError'
}

/** An invalid configuration. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** A failed command, with a message for people and an exit code for scripts. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Documented exit codes, so never renumbered. */
export const exitCodes = {
  failure: 1,
  usage: 2,
  notFound: 3,
  auth: 4,
  conflict: 5,
  unavailable: 69,
  temporary: 75,
  config: 78,
  interrupted: 130,
} as const

const byStatus: Readonly<Record<number, number>> = {
  401: exitCodes.auth,
  403: exitCodes.auth,
  404: exitCodes.notFound,
  409: exitCodes.conflict,
  429: exitCodes.temporary,
}

const entries: readonly CatalogEntry[] = Object.values(catalog)
const conflicts = new Set(entries.flatMap(entry => (entry.conflict ? `ERR_ADIT_${entry.number}` : [])))

function exitCodeOf({ status, code = '' }: ApiError): number {
  if (conflicts.has(code)) return exitCodes.conflict
  return byStatus[status] ?? (status >= 500 ? exitCodes.unavailable : exitCodes.failure)
}

const hints: Readonly<Record<number, string>> = {
  401: 'The key comes from --key-file, ADIT_API_KEY or the file api-key of the data folder.',
}

function linesOf(error: ApiError): string {
  const facts = [
    error.field !== undefined && `field ${error.field}`,
    error.code !== undefined && `code ${error.code}`,
    error.operationId !== undefined && `operation ${error.operationId}`,
  ].filter(fact => fact !== false)
  const lines = [error.message, facts.join(', '), hints[error.status] ?? '']
  return lines.filter(line => line !== '').join('\n  ')
}

const URL_HINT = 'Set its URL with --url or ADIT_API_URL.'

/** Every response of the API has an operation id: the 404 of another server must not be taken for an absent resource. */
const isOfOtherServer = ({ code, operationId }: ApiError): boolean =>
  code === undefined && operationId === undefined

/** Fails with this text where the API has no such resource. A 404 for another reason has a code of its own. */
export async function unlessAbsent<Result>(asked: Promise<Result>, text: string): Promise<Result> {
  try {
    return await asked
  } catch (error) {
    const isAbsent = error instanceof ApiError && error.status === 404 && error.code === undefined
    throw isAbsent && !isOfOtherServer(error) ? new CommandError(text, exitCodes.notFound) : error
  }
}

interface CommandFailure {
  readonly text: string
  readonly exitCode: number
}

/** Message and exit code of an error; undefined for unexpected ones. */
export function failureOf(error: unknown): CommandFailure | undefined {
  if (error instanceof ApiError && isOfOtherServer(error)) {
    const text = `${error.message}\n  ${URL_HINT}`
    return { text: printable(text), exitCode: exitCodes.unavailable }
  }
  if (error instanceof ApiError) return { text: printable(linesOf(error)), exitCode: exitCodeOf(error) }
  if (error instanceof UnreachableError) {
    const text = `${error.message}\n  Is it running? ${URL_HINT}`
    return { text: printable(text), exitCode: exitCodes.unavailable }
  }
  if (error instanceof ArgumentError) return { text: printable(error.message), exitCode: exitCodes.usage }
  if (error instanceof UsageError) return { text: error.message, exitCode: exitCodes.usage }
  if (error instanceof NoKeyError) return { text: error.message, exitCode: exitCodes.auth }
  if (error instanceof ConfigError) return { text: printable(error.message), exitCode: exitCodes.config }
  if (error instanceof CommandError) return { text: printable(error.message), exitCode: error.exitCode }
  if (error instanceof DeclinedError) return { text: error.message, exitCode: exitCodes.failure }
  return undefined
}
