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

export interface Reloading {
  /** Whether a change requires a new value; `reset` always does. */
  readonly on?: (change: SeenChange) => boolean
  /** For what has no changes, such as usage: it is read again at this interval while the page is visible. */
  readonly everyMs?: number
}

/** Many changes within this time cause one reload; the time doubles while they continue. */
const GATHER_MS = 150
const MAX_GATHER_MS = 2400

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

/** Reloads after changes that concern the value, once the running reload has ended. */
function useChanges(
  concerns: (change: SeenChange) => boolean,
  { reload, isLoading }: Pick<Loaded<unknown>, 'reload' | 'isLoading'>,
): void {
  const [isStale, setIsStale] = useState(false)
  const gathering = useRef({ ms: GATHER_MS, last: -Infinity })
  useEffect(() => onChange(change => concerns(change) && setIsStale(true)), [reload])
  useEffect(() => {
    if (!isStale || isLoading) return
    const { ms, last } = gathering.current
    const isQuiet = performance.now() - last > 2 * ms
    gathering.current.ms = isQuiet ? GATHER_MS : Math.min(2 * ms, MAX_GATHER_MS)
    const timer = setTimeout(() => {
      gathering.current.last = performance.now()
      setIsStale(false)
      reload()
    }, gathering.current.ms)
    return () => clearTimeout(timer)
  }, [isStale, isLoading, reload])
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
  useChanges(change => change.change === 'reset' || latest.current.on?.(change) === true, {
    reload,
    isLoading: state.isLoading,
  })
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
