import { once } from 'node:events'
import { connect } from 'node:net'
import { isFolder } from '#agent/files/folder.ts'
import type { EndpointOptions } from '#agent/options.ts'
import { placeOf } from '#agent/dial-upstream.ts'
import { readTarget } from '#agent/target.ts'

const WAIT_MS = 2000

/** The problem with an endpoint's service before the first request; undefined when it is listening. */
export async function upstreamProblem({ forwardTo, proto }: EndpointOptions): Promise<string | undefined> {
  if (forwardTo === undefined || isFolder(forwardTo)) return undefined
  const target = readTarget(forwardTo, proto ?? '')
  const socket = connect(placeOf(target))
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(WAIT_MS) })
    return undefined
  } catch (error) {
    const causes =
      error instanceof AggregateError ? (error.errors as NodeJS.ErrnoException[]) : [error as Error]
    const isRefused = causes.some(({ code = '' }: NodeJS.ErrnoException) =>
      ['ECONNREFUSED', 'ENOENT'].includes(code),
    )
    const [where, what] =
      'host' in target.place ? [`${target.place.host}:${target.place.port}`, 'port'] : [target.text, 'path']
    return isRefused
      ? `Nothing is listening on ${where} yet. Start your service there, or use its ${what}.`
      : undefined
  } finally {
    socket.on('error', () => undefined).destroy()
  }
}
