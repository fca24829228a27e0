/** Auto-reset event: a notification without a waiter is kept for the next one. */
export class Notifier {
  #notified = false
  #wake: (() => void) | undefined

  notify(): void {
    this.#notified = true
    this.#wake?.()
  }

  /** Resolves at the next notification, or after so many milliseconds. */
  async wait(milliseconds?: number): Promise<void> {
    if (!this.#notified) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      // Longer timers fire at once.
      const timer =
        milliseconds === undefined
          ? undefined
          : setTimeout(resolve, Math.min(Math.max(milliseconds, 0), 2 ** 31 - 1))
      timer?.unref()
      await promise
      clearTimeout(timer)
      this.#wake = undefined
    }
    this.#notified = false
  }
}
