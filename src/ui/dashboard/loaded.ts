import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, UnreachableError } from '#client/errors.ts'
import { onChange, type SeenChange } from '#ui/dashboard/live.ts'

export interface Loaded<Value> {
  /** The last value; it stays while the next one is loaded. */
  readonly value: Value | undefined
  readonly error: Error | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

interface Reloading {
  /** Whether a change asks for a new value; `reset` always does. */
  readonly on?: (change: SeenChange) => boolean
  /** Online state has no changes: it is read again at this interval while the page is visible. */
  readonly everyMs?: number
}

/** Many changes within this time cause one reload. */
const GATHER_MS = 150

const RETRY_MS = 3000

/** The server or its database does not respond at the moment. */
const isTransient = (error: Error): boolean =>
  error instanceof UnreachableError || (error instanceof ApiError && error.status === 503)

/** Tries again after a failure that ends by itself. An attempt that takes long is awaited. */
function useRetry(error: Error | undefined, isLoading: boolean, reload: () => void): void {
  useEffect(() => {
    if (isLoading || error === undefined || !isTransient(error)) return
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), RETRY_MS)
    return () => clearInterval(timer)
  }, [error, isLoading, reload])
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

/** Loads a value when `key` changes, and again when a change concerns it. */
export function useLoaded<Value>(
  key: string,
  load: () => Promise<Value>,
  { on, everyMs }: Reloading = {},
): Loaded<Value> {
  const [state, setState] = useState<{ key: string; value?: Value; error?: Error; isLoading: boolean }>({
    key,
    isLoading: true,
  })
  const latest = useRef({ load, on, round: 0 })
  latest.current.load = load
  latest.current.on = on
  const reload = useCallback(() => {
    const round = ++latest.current.round
    setState(before => (before.key === key ? { ...before, isLoading: true } : { key, isLoading: true }))
    const settle = (next: { value?: Value; error?: Error }): void => {
      // The response to an earlier question must not replace that to a later one.
      if (latest.current.round !== round) return
      setState(before => ({
        key,
        ...(before.key === key && before.value !== undefined && { value: before.value }),
        ...next,
        isLoading: false,
      }))
    }
    latest.current.load().then(
      value => settle({ value }),
      (error: unknown) => settle({ error: asError(error) }),
    )
  }, [key])
  useEffect(() => {
    reload()
    return () => void latest.current.round++
  }, [reload])
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = onChange(change => {
      if (change.change !== 'reset' && latest.current.on?.(change) !== true) return
      timer ??= setTimeout(() => {
        timer = undefined
        reload()
      }, GATHER_MS)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [reload])
  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), everyMs)
    return () => clearInterval(timer)
  }, [reload, everyMs])
  useRetry(state.error, state.isLoading, reload)
  const isCurrent = state.key === key
  return {
    value: isCurrent ? state.value : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: !isCurrent || state.isLoading,
    reload,
  }
}
