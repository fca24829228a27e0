/**
 * Calls a callback of the program. What it throws is an error of the program: it is rethrown separately, where it
 * neither closes a connection nor changes our state.
 */
export function notifyListener<Event>(listener: ((event: Event) => void) | undefined, event: Event): void {
  try {
    listener?.(event)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
