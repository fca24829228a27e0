/** Whether a key belongs to the control with the focus, or to an open dialog, and not to the page. */
export function isTyping(target: EventTarget | null, controls = 'input, textarea, select'): boolean {
  if (!(target instanceof HTMLElement)) return false
  // A closed dialog has the focus until the next frame.
  const dialog = target.closest('dialog')
  return dialog ? dialog.open : target.closest(controls) !== null
}
