import { findConnection, type ConnectionOptions } from '#cli/connection.ts'
import { CommandError, exitCodes, unlessAbsent, UsageError } from '#cli/failure.ts'
import { filtersIn } from '#cli/filters.ts'
import { printableJson } from '#cli/printable.ts'
import { captureCurl, captureText } from '#cli/requests/capture-text.ts'
import { harOf } from '#cli/requests/har.ts'
import { explanation, requestLine } from '#cli/requests/request-text.ts'
import { createClient } from '#client/client.ts'
import { streams } from '#contract/streams.ts'

export interface TailOptions extends ConnectionOptions {
  readonly output: 'text' | 'json'
}

export function clientFor(options: ConnectionOptions) {
  const { url, token } = findConnection(options, process.env)
  return createClient({ url, token: token.reveal() })
}

/** Prints requests until the server ends the stream or the user interrupts. */
export async function tail(options: TailOptions): Promise<void> {
  process.once('SIGINT', () => process.exit(exitCodes.interrupted))
  const filters = filtersIn(streams.requests.filters, options)
  const dropped = (count: number): void => {
    process.stderr.write(`adit: ${count} requests are missing: they were not read in time.\n`)
  }
  for await (const request of clientFor(options).streams.requests(filters, { dropped })) {
    const text = options.output === 'json' ? printableJson(JSON.stringify(request)) : requestLine(request)
    process.stdout.write(`${text}\n`)
  }
  throw new CommandError(
    'The server has ended the stream: it stops, or the API key was revoked.',
    exitCodes.unavailable,
  )
}

/** A request without a capture has an error of its own. */
const found = <Result>(id: string, asked: Promise<Result>): Promise<Result> =>
  unlessAbsent(
    asked,
    `The server has no request ${JSON.stringify(id)}: the id is wrong, or the request is older than the last few thousand, which are kept.`,
  )

export async function why(id: string, options: ConnectionOptions): Promise<void> {
  const { requests } = clientFor(options)
  const request = await found(id, requests.get(id))
  process.stdout.write(explanation(request, await found(id, requests.reason(id))))
}

export interface ShowOptions extends ConnectionOptions {
  readonly output: 'text' | 'har' | 'curl' | 'json'
}

export async function show(id: string, { output, ...connection }: ShowOptions): Promise<void> {
  const { requests } = clientFor(connection)
  const capture = await found(id, requests.capture(id))
  if (output === 'text') return write(captureText(capture))
  if (output === 'json') return writeJson(capture)
  const shown = await requests.get(id)
  return output === 'curl' ? write(captureCurl(capture, shown)) : writeJson(harOf(capture, shown))
}

export interface ReplayOptions extends ConnectionOptions {
  readonly output: 'text' | 'json'
  readonly via?: 'edge' | 'agent'
  readonly endpoint?: string
  readonly tunnel?: string
  readonly method?: string
  readonly path?: string
  readonly header?: readonly string[]
  readonly body?: string
  readonly resign?: true
}

/** Sends a request again, and prints the new response below its id. */
export async function replay(id: string, options: ReplayOptions): Promise<void> {
  const { output, via, endpoint, tunnel, method, path, header, body, resign, ...connection } = options
  const sent = clientFor(connection).requests.replay(id, {
    ...(via !== undefined && { via }),
    ...targetOf({ endpoint, tunnel }),
    ...(method !== undefined && { method }),
    ...(path !== undefined && { path }),
    ...(header !== undefined && { headers: header.map(headerIn) }),
    ...(body !== undefined && { body }),
    ...(resign !== undefined && { resign }),
  })
  const result = await found(id, sent)
  if (output === 'json') writeJson(result)
  else write(`${result.request_id}\n\n${captureText(result.capture)}`)
}

export interface TargetOptions {
  readonly endpoint?: string | undefined
  readonly tunnel?: string | undefined
}

/** The target of a replay, as in the API. */
export const targetOf = ({ endpoint, tunnel }: TargetOptions) => ({
  ...(endpoint !== undefined && { endpoint_id: endpoint }),
  ...(tunnel !== undefined && { tunnel_id: tunnel }),
})

/** `Name: value`, or `Name:` to remove the header. */
function headerIn(given: string): { name: string; value: string | null } {
  const colon = given.indexOf(':')
  if (colon < 1)
    throw new UsageError(`--header must be "Name: value", or "Name:" to remove it, not "${given}"`)
  const value = given.slice(colon + 1).trim()
  return { name: given.slice(0, colon).trim(), value: value === '' ? null : value }
}

const write = (text: string): void => void process.stdout.write(text)
const writeJson = (value: unknown): void => write(`${printableJson(JSON.stringify(value, undefined, 2))}\n`)
