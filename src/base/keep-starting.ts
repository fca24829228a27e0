import { type Background, backgroundFailure } from '#base/background.ts'

export type Stop = () => Promise<void>

const RETRY_MS = 30_000

/**
 * Starts a part that the server can do without for a while. A failure, such as a full disk, is logged and retried; the
 * rest of the server does not wait. Resolves after the first attempt to what stops the part.
 */
export async function keepStarting(
  background: Background,
  start: () => Promise<Stop>,
  retryMs = RETRY_MS,
): Promise<Stop> {
  let stop: Stop = async () => undefined
  let timer: NodeJS.Timeout | undefined
  let attempt: Promise<void> | undefined
  let isClosed = false
  const tryOnce = async (): Promise<void> => {
    try {
      stop = await start()
    } catch (error) {
      backgroundFailure(background, error)
      if (!isClosed) timer = setTimeout(() => void (attempt = tryOnce()), retryMs).unref()
    }
  }
  await tryOnce()
  return async () => {
    isClosed = true
    clearTimeout(timer)
    await attempt
    await stop()
  }
}
