import { findConnection, type ConnectionOptions } from '#cli/connection.ts'
import { CommandError, exitCodes } from '#cli/failure.ts'
import { filtersIn } from '#cli/filters.ts'
import { printableJson } from '#cli/printable.ts'
import { explanation, requestLine } from '#cli/requests/request-text.ts'
import { createClient } from '#client/client.ts'
import { streams } from '#contract/streams.ts'

export interface TailOptions extends ConnectionOptions {
  readonly output: 'text' | 'json'
}

function clientFor(options: ConnectionOptions) {
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

export async function why(id: string, options: ConnectionOptions): Promise<void> {
  process.stdout.write(explanation(await clientFor(options).requests.get(id)))
}
