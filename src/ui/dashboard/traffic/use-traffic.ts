import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '#ui/dashboard/api.ts'
import { follow } from '#ui/dashboard/live.ts'
import { matchesWords, type RequestQuery } from '#ui/dashboard/traffic/filter.ts'
import type { EndedRequest } from '#ui/dashboard/traffic/request-text.ts'

/** Older ones are dropped. */
const MAX_ROWS = 1000
/** Rows are shown at most four times a second: more is not read, and takes time from the browser. */
const SHOW_MS = 250
const FIRST_PAGE = 100

export interface LiveTraffic {
  /** Newest first. */
  readonly rows: readonly EndedRequest[]
  /** Received while paused. */
  readonly waiting: number
  /** Not sent by the server, because this browser was too slow. */
  readonly dropped: number
  readonly isOpen: boolean
  readonly error: Error | undefined
  readonly clear: () => void
}

interface Buffers {
  rows: EndedRequest[]
  pending: EndedRequest[]
  timer: ReturnType<typeof setTimeout> | undefined
}

/** Puts the pending requests before the rows. */
function merge({ rows, pending }: Buffers): EndedRequest[] {
  const known = new Set(rows.map(({ id }) => id))
  const added = pending.filter(({ id }) => !known.has(id)).toReversed()
  return [...added, ...rows].slice(0, MAX_ROWS)
}

/** The requests that end from now on, after the last ones before. */
export function useTraffic(key: string, filter: RequestQuery, isPaused: boolean): LiveTraffic {
  const buffers = useRef<Buffers>({ rows: [], pending: [], timer: undefined })
  const paused = useRef(isPaused)
  const [shown, setShown] = useState<readonly EndedRequest[]>([])
  const [waiting, setWaiting] = useState(0)
  const [dropped, setDropped] = useState(0)
  const [isOpen, setIsOpen] = useState(false)
  const [error, setError] = useState<Error>()
  const show = (): void => {
    const { current } = buffers
    current.timer = undefined
    if (paused.current) return setWaiting(current.pending.length)
    current.rows = merge(current)
    current.pending = []
    setWaiting(0)
    setShown(current.rows)
  }
  useEffect(() => {
    paused.current = isPaused
    if (!isPaused) show()
  }, [isPaused])
  useEffect(() => {
    const ends = new AbortController()
    buffers.current = { rows: [], pending: [], timer: undefined }
    setShown([])
    setDropped(0)
    setError(undefined)
    const add = (request: EndedRequest): void => {
      const { current } = buffers
      if (!matchesWords(filter, request)) return
      current.pending.push(request)
      if (current.pending.length > MAX_ROWS) current.pending.shift()
      current.timer ??= setTimeout(show, SHOW_MS)
    }
    const before = async (): Promise<void> => {
      const { items } = await api.requests.list({ ...filter.filters, limit: FIRST_PAGE })
      if (!ends.signal.aborted) for (const item of items.toReversed()) add(item)
    }
    const fail = (cause: unknown): void => {
      if (!ends.signal.aborted) setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
    const opened = (): void => {
      setIsOpen(true)
      setError(undefined)
      before().catch(fail)
    }
    const options = {
      signal: ends.signal,
      opened,
      dropped: (count: number) => setDropped(sum => sum + count),
    }
    void follow(() => api.streams.requests(filter.filters, options), {
      item: add,
      state: setIsOpen,
      failed: fail,
      signal: ends.signal,
    })
    return () => {
      ends.abort()
      clearTimeout(buffers.current.timer)
    }
  }, [key])
  const clear = (): void => {
    buffers.current.rows = []
    buffers.current.pending = []
    setWaiting(0)
    setShown([])
  }
  return { rows: shown, waiting, dropped, isOpen, error, clear }
}
