import type { ConnectionOptions } from '#cli/connection.ts'
import { filtersIn } from '#cli/filters.ts'
import { clientFor, targetOf, type TargetOptions } from '#cli/requests/actions.ts'
import { CommandError, exitCodes } from '#cli/failure.ts'
import { printable } from '#cli/printable.ts'
import { ApiError } from '#client/errors.ts'
import { streams } from '#contract/streams.ts'
import { isReplayable } from '#contract/kinds/request-capture.ts'

export interface ReplayFailedOptions extends ConnectionOptions, TargetOptions {
  readonly max: number
}

/** Sends failed requests again, one after the other, and prints the status before and after. */
export async function replayFailed(options: ReplayFailedOptions): Promise<void> {
  const { requests } = clientFor(options)
  const filters = filtersIn(streams.requests.filters, options)
  const chosen = []
  for await (const request of requests.all(filters)) {
    if (isReplayable(request)) chosen.push(request)
    if (chosen.length === options.max) break
  }
  let failures = 0
  for (const { id, method, host, path, status } of chosen.toReversed()) {
    const outcome = await requests.replay(id, targetOf(options)).then(
      ({ request_id: made, capture }) => `${capture.response?.status ?? 'no response'}  ${made}`,
      (error: unknown) => {
        if (!(error instanceof ApiError)) throw error
        failures++
        return error.message
      },
    )
    process.stdout.write(
      `${id}  ${printable(`${method} ${host}${path}`)}  ${status} -> ${printable(outcome)}\n`,
    )
  }
  if (chosen.length === 0)
    throw new CommandError('No failed request that passes the filters was captured.', exitCodes.notFound)
  if (failures > 0) throw new CommandError(`${failures} requests were not sent.`, exitCodes.failure)
}
