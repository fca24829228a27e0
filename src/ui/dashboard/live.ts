import { effect, signal } from '@preact/signals'
import { api } from '#ui/dashboard/api.ts'
import { session } from '#ui/dashboard/session.ts'

/** A changed resource; `reset` when changes may have been missed. */
export interface SeenChange {
  readonly kind: string
  readonly id: string
  readonly change: 'created' | 'updated' | 'deleted' | 'reset'
}

const listeners = new Set<(change: SeenChange) => void>()
const RESET: SeenChange = { kind: '', id: '', change: 'reset' }
const MAX_DELAY_MS = 10_000

/** Whether changes arrive as they are made. */
export const isLive = signal(false)

export function onChange(listener: (change: SeenChange) => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

const notify = (change: SeenChange): void => {
  for (const listener of listeners) listener(change)
}

const pause = (ms: number): Promise<void> => new Promise(resolve => void setTimeout(resolve, ms))

/** Follows a stream until `signal` aborts, again after each failure. */
export async function follow<Item>(
  open: (signal: AbortSignal) => AsyncGenerator<Item>,
  {
    item,
    state,
    failed,
    signal: ends,
  }: {
    item: (item: Item) => void
    state: (isOpen: boolean) => void
    failed?: (error: unknown) => void
    signal: AbortSignal
  },
): Promise<void> {
  let delay = 500
  while (!ends.aborted) {
    try {
      for await (const each of open(ends)) {
        delay = 500
        item(each)
      }
    } catch (error) {
      if (!ends.aborted) failed?.(error)
      delay = Math.min(delay * 2, MAX_DELAY_MS)
    }
    if (ends.aborted) return
    state(false)
    await pause(delay)
  }
}

/**
 * Follows changes with a session and while the page is visible: browsers allow six connections to a server, for all
 * tabs together.
 */
export function startLive(): void {
  const isVisible = signal(document.visibilityState === 'visible')
  document.addEventListener('visibilitychange', () => {
    isVisible.value = document.visibilityState === 'visible'
  })
  const isWanted = signal(false)
  effect(() => {
    isWanted.value = isVisible.value && Boolean(session.value)
  })
  effect(() => {
    if (!isWanted.value) return
    const ends = new AbortController()
    void follow(stop => api.streams.changes({}, { signal: stop, opened, dropped: missed }), {
      item: notify,
      state: isOpen => (isLive.value = isOpen),
      signal: ends.signal,
    })
    return () => {
      ends.abort()
      isLive.value = false
    }
  })
}

function opened(): void {
  isLive.value = true
  missed()
}

function missed(): void {
  notify(RESET)
}
