import { createInterface } from 'node:readline'
import { bodyOf, type Given } from '#cli/body.ts'
import { findConnection, type ConnectionOptions } from '#cli/connection.ts'
import { DeclinedError, exitCodes } from '#cli/failure.ts'
import { filtersIn } from '#cli/filters.ts'
import { flagsOf } from '#cli/flags.ts'
import { columnsOf, outputOf, type OutputOptions } from '#cli/output.ts'
import { printable } from '#cli/printable.ts'
import { allPages, isList, methodOf, type ClientMethod } from '#client/method.ts'
import { sender, type Send } from '#client/send.ts'
import type { PageRequest } from '#client/types.ts'
import type { Operation } from '#contract/operations.ts'
import type { Singleton } from '#contract/singletons.ts'

interface CommonOptions extends ConnectionOptions, OutputOptions {}

export interface CallOptions extends CommonOptions {
  readonly json?: string
  readonly yes?: boolean
  readonly limit?: number
  readonly beforeId?: string
  readonly filter?: string
}

const MAX_PAGE = 100

function connect(options: ConnectionOptions): Send {
  process.once('SIGINT', () => process.exit(exitCodes.interrupted))
  const { url, token } = findConnection(options, process.env)
  return sender({ url, token: token.reveal() })
}

function print(text: string): void {
  // The reader has closed the pipe, as `head` does.
  process.stdout.on('error', () => process.exit(0))
  process.stdout.write(text)
}

/** Asks for confirmation, but only interactively: a script has decided already. */
async function confirm(what: string): Promise<void> {
  if (!process.stdin.isTTY) return
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  // The prompt takes Ctrl-C away from the process.
  prompt.once('SIGINT', () => process.exit(exitCodes.interrupted))
  const answer = await new Promise<string>(resolve => {
    prompt.once('close', () => resolve(''))
    prompt.question(`${printable(what)} [y/N] `, resolve)
  })
  prompt.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new DeclinedError('nothing was deleted')
}

/** All items, or up to the limit, over all pages. */
async function collect(
  list: ClientMethod,
  ids: readonly string[],
  options: CallOptions,
  filters: Readonly<Record<string, string>>,
): Promise<unknown[]> {
  const { limit = Infinity, beforeId, filter } = options
  const page: PageRequest = {
    ...filters,
    ...(limit < MAX_PAGE && { limit }),
    ...(beforeId !== undefined && { before_id: beforeId }),
    ...(filter !== undefined && { filter }),
  }
  const items: unknown[] = []
  for await (const item of allPages(list, ids, page)) {
    items.push(item)
    if (items.length >= limit) break
  }
  return items
}

/** Runs one operation and prints the response. */
export async function call(
  operation: Operation,
  ids: readonly string[],
  given: Given,
  options: CallOptions,
): Promise<void> {
  const flags = flagsOf(operation)
  const body = operation.input ? await bodyOf(flags, given, options.json) : undefined
  const method = methodOf(operation, connect(options))
  if (operation.method === 'DELETE' && !options.yes)
    await confirm(`${operation.summary} ${ids.join(' ')}: sure?`)
  const answer = isList(operation)
    ? await collect(method, ids, options, filtersIn(operation.kind.filters ?? {}, options))
    : await method(...ids, body)
  const { key, shape } = operation.kind
  print(outputOf(answer, columnsOf(key, shape), options))
  if (answer === undefined && process.stderr.isTTY && !options.quiet) process.stderr.write('Done.\n')
}

/** Reads a singleton. */
export async function callSingleton(
  { method = 'GET', path, filters = {} }: Singleton,
  options: CommonOptions,
): Promise<void> {
  const query = new URLSearchParams(filtersIn(filters, options))
  print(outputOf(await connect(options)({ method, path, query }), [], options))
}
