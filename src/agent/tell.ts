/**
 * Calls what a program gave us to be called. What it throws is a fault of that program: it is thrown again on its own,
 * where it does not end a connection or change what we were doing.
 */
export function tell<Event>(listener: ((event: Event) => void) | undefined, event: Event): void {
  try {
    listener?.(event)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
