import { EgressError } from '#base/egress.ts'

/** Runs work with a signal that aborts, with the error to report, when its time is over. */
export async function within<Result>(
  milliseconds: number,
  what: string,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController()
  const timer = setTimeout(() => {
    const seconds = Math.round(milliseconds / 100) / 10
    controller.abort(new EgressError(`${what} took longer than ${seconds} seconds.`, { code: 'timeout' }))
  }, milliseconds)
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
  }
}

/** The result of work that cannot be aborted; waiting for it ends with the signal. */
export function unlessAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(signal.reason)
    if (signal.aborted) late()
    signal.addEventListener('abort', late, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', late))
  })
}
