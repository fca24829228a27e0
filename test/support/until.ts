import { AssertionError } from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'

interface Patience {
  /** The description of the condition for the failure message; by default its source. */
  readonly what?: string | (() => string)
  readonly withinMs?: number
  /** Resolves when another look may find something new. */
  readonly next?: () => Promise<unknown>
}

interface Fitting<Found> extends Patience {
  readonly fits: (found: Found) => boolean
}

type Look<Found> = () => Found | Promise<Found>

const WITHIN_MS = 60_000
const EVERY_MS = 5
/** Each poll of a server takes CPU time from other tests on the machine. */
const SELDOM_MS = 50

/** The interval grows with the elapsed time: a poll delays the result by a twentieth at most. */
const pauseAfter = (elapsedMs: number): number => Math.min(SELDOM_MS, Math.max(EVERY_MS, elapsedMs / 20))

const isSo = (found: unknown): boolean => found !== undefined && found !== false

/**
 * Polls, and returns the first result that fits: without `fits`, the first that is neither undefined nor false. Fails
 * in bounded time, with the condition and the last result.
 */
export function until<Found>(look: Look<Found>, patience: Fitting<Found>): Promise<Found>
export function until<Found>(
  look: Look<Found>,
  patience?: Patience,
): Promise<Exclude<Found, undefined | false>>
export async function until(look: Look<unknown>, patience: Partial<Fitting<unknown>> = {}): Promise<unknown> {
  const begun = performance.now()
  const nextLook = () => pause(pauseAfter(performance.now() - begun))
  const { fits = isSo, withinMs = WITHIN_MS, next = nextLook } = patience
  const source = () => [look, patience.fits].filter(each => each !== undefined).join(' fits ')
  const { what = source } = patience
  const late = Promise.withResolvers<never>()
  let found: unknown = 'nothing yet'
  const timer = setTimeout(() => {
    const wanted = typeof what === 'string' ? what : what()
    const message = `not so after ${withinMs} ms: ${wanted}; last seen: ${inspect(found)}`
    late.reject(new AssertionError({ message, stackStartFn: until }))
  }, withinMs)
  try {
    for (;;) {
      found = await Promise.race([look(), late.promise])
      if (fits(found)) return found
      await Promise.race([next(), late.promise])
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Resolves when two polls in a row have the same result, such as when a buffer is full. */
export async function steady(look: Look<number>, everyMs = 100): Promise<number> {
  let last = Number.NaN
  const isSame = (found: number): boolean => {
    const same = found === last
    last = found
    return same
  }
  return until(look, { what: 'a figure that stays', fits: isSame, next: () => pause(everyMs) })
}
