import { applicationSession } from '#contract/kinds/application.ts'
import type { Records } from '#registry/records/records.ts'
import { TwoGenerationCache } from '#base/two-generation-cache.ts'

/** A row written by another process normally arrives within this time. */
const YOUNG_MS = 5000
const YOUNG_WAIT_MS = 1000
const NEW_WAIT_MS = 2000
const MAX_WAITING = 1000
const MAX_ENDED = 10_000

/** Knows which sessions exist: those whose rows are not deleted. */
export class SessionRevocation {
  readonly #records: Records
  readonly #now: () => number
  readonly #ended = new TwoGenerationCache<true>(MAX_ENDED)
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(records: Records, now: () => number) {
    this.#records = records
    this.#now = now
    records.onChange([applicationSession.name], ({ id, after }) => {
      if (after !== undefined) this.#waiting.get(id)?.forEach(found => found())
      // A deleted session need not be waited for.
      else this.#ended.set(id, true)
    })
  }

  /** Whether the session is known to exist. */
  isKnown(sessionId: string): boolean {
    return (
      this.#records.get(applicationSession, sessionId) !== undefined &&
      this.#ended.get(sessionId) === undefined
    )
  }

  /** The same, but waits for one that was just created. */
  async isActive(sessionId: string, begun: number): Promise<boolean> {
    if (this.#ended.get(sessionId)) return false
    if (this.isKnown(sessionId)) return true
    return this.#now() - begun < YOUNG_MS && this.#waitForRow(sessionId, YOUNG_WAIT_MS)
  }

  /** Waits for the row of a new session: the browser must not return before it. */
  async settled(sessionId: string): Promise<void> {
    if (!this.isKnown(sessionId)) await this.#waitForRow(sessionId, NEW_WAIT_MS)
  }

  /** Takes effect here at once, and elsewhere with the row. */
  ended(sessionId: string): void {
    this.#ended.set(sessionId, true)
  }

  async #waitForRow(sessionId: string, waitMs: number): Promise<boolean> {
    if (this.#waiting.size >= MAX_WAITING) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const found = (): void => resolve(true)
    const waiters = this.#waiting.get(sessionId) ?? new Set()
    this.#waiting.set(sessionId, waiters.add(found))
    const timer = setTimeout(() => resolve(false), waitMs)
    const came = await promise
    clearTimeout(timer)
    waiters.delete(found)
    if (waiters.size === 0) this.#waiting.delete(sessionId)
    return came
  }
}
