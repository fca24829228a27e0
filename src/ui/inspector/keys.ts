import { isTyping } from '#ui/typing.ts'

export interface KeyBinding {
  readonly keys: readonly string[]
  readonly help: string
  readonly press: () => void
}

/** Runs the action of a key, unless text is being typed. */
export function onKeys(all: readonly KeyBinding[]): void {
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    // Arrow keys belong to the focused element if it has tabs.
    if (
      event.target instanceof Element &&
      event.target.matches('[role=tab]') &&
      event.key.startsWith('Arrow')
    )
      return
    const found = all.find(({ keys }) => keys.includes(event.key))
    if (!found) return
    event.preventDefault()
    found.press()
  })
}
