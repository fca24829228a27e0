/** Auto-reset event: a notification without a waiter is kept for the next one. */
export class Bell {
  #rung = false
  #wake: (() => void) | undefined

  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  /** Resolves at the next notification, or after so many milliseconds. */
  async wait(milliseconds?: number): Promise<void> {
    if (!this.#rung) {
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
    this.#rung = false
  }
}
