import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '#ui/dashboard/api.ts'
import { follow } from '#ui/dashboard/live.ts'
import { matchesWords, type RequestQuery } from '#ui/dashboard/traffic/filter.ts'
import type { EndedRequest } from '#contract/request-responder.ts'

/** Older ones are dropped. */
const MAX_ROWS = 1000
/** Rows are shown at most four times a second: more is not read, and takes time from the browser. */
const SHOW_MS = 250
const FIRST_PAGE = 100

interface LiveTraffic {
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
  /** By id, oldest first. */
  pending: Map<string, EndedRequest>
  timer: ReturnType<typeof setTimeout> | undefined
}

const emptyBuffers = (): Buffers => ({ rows: [], pending: new Map(), timer: undefined })

/** The pending requests that the rows do not have, newest first. */
function unseen({ rows, pending }: Buffers): EndedRequest[] {
  const known = new Set(rows.map(({ id }) => id))
  return [...pending.values()].filter(({ id }) => !known.has(id)).toReversed()
}

function dropOldest(pending: Map<string, EndedRequest>): void {
  const [oldest = ''] = pending.keys()
  pending.delete(oldest)
}

/** Adds requests from before a stream was opened, newest first, behind those that it has sent meanwhile. */
function insertEarlier(
  buffers: Buffers,
  earlier: readonly EndedRequest[],
  newestBefore: string | undefined,
): void {
  const { rows, pending } = buffers
  const known = new Set([...rows.map(({ id }) => id), ...pending.keys()])
  const at = rows.findIndex(({ id }) => id === newestBefore)
  const missed = earlier.filter(({ id }) => !known.has(id))
  buffers.rows = rows.toSpliced(at < 0 ? rows.length : at, 0, ...missed).slice(0, MAX_ROWS)
}

/** The requests that end from now on, after the last ones before. */
export function useTraffic(key: string, filter: RequestQuery, isPaused: boolean): LiveTraffic {
  const buffers = useRef(emptyBuffers())
  const paused = useRef(isPaused)
  const [shown, setShown] = useState<readonly EndedRequest[]>([])
  const [waiting, setWaiting] = useState(0)
  const [dropped, setDropped] = useState(0)
  const [isOpen, setIsOpen] = useState(false)
  const [error, setError] = useState<Error>()
  const show = (): void => {
    const { current } = buffers
    current.timer = undefined
    const added = unseen(current)
    if (paused.current) return setWaiting(added.length)
    current.rows = [...added, ...current.rows].slice(0, MAX_ROWS)
    current.pending.clear()
    setWaiting(0)
    setShown(current.rows)
  }
  useEffect(() => {
    paused.current = isPaused
    if (!isPaused) show()
  }, [isPaused])
  useEffect(() => {
    const ends = new AbortController()
    buffers.current = emptyBuffers()
    setShown([])
    setDropped(0)
    setError(undefined)
    const add = (request: EndedRequest): void => {
      const { current } = buffers
      if (!matchesWords(filter, request)) return
      current.pending.set(request.id, request)
      if (current.pending.size > MAX_ROWS) dropOldest(current.pending)
      current.timer ??= setTimeout(show, SHOW_MS)
    }
    const before = async (): Promise<void> => {
      const newest = buffers.current.rows[0]?.id
      const { items } = await api.requests.list({ ...filter.filters, limit: FIRST_PAGE })
      if (ends.signal.aborted) return
      insertEarlier(
        buffers.current,
        items.filter(item => matchesWords(filter, item)),
        newest,
      )
      buffers.current.timer ??= setTimeout(show, SHOW_MS)
    }
    const fail = (cause: unknown): void => {
      if (!ends.signal.aborted) setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
    const opened = (): void => {
      setIsOpen(true)
      setError(undefined)
      before().catch(fail)
    }
    const lost = (count: number): void => setDropped(sum => sum + count)
    const options = { signal: ends.signal, opened, dropped: lost }
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
    buffers.current.pending.clear()
    setWaiting(0)
    setShown([])
  }
  return { rows: shown, waiting, dropped, isOpen, error, clear }
}
