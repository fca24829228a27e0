import { element } from '#ui/element.ts'

export interface Tab {
  readonly name: string
  /** Called when the tab is shown. */
  readonly content: () => Node
}

/** Tabs by the WAI-ARIA pattern: arrow keys move between them. `chosen` keeps the choice from one call to the next. */
export function tabs(label: string, all: readonly Tab[], chosen: { name: string }): HTMLElement {
  const panel = element('div', { role: 'tabpanel', tabindex: 0 })
  const buttons = all.map(({ name }) => element('button', { type: 'button', role: 'tab' }, name))
  const show = (at: number, takesFocus: boolean): void => {
    const tab = all[at]
    if (!tab) return
    chosen.name = tab.name
    for (const [index, each] of buttons.entries()) {
      each.setAttribute('aria-selected', String(index === at))
      each.tabIndex = index === at ? 0 : -1
    }
    panel.replaceChildren(tab.content())
    if (takesFocus) buttons[at]?.focus()
  }
  for (const [at, each] of buttons.entries()) {
    each.addEventListener('click', () => show(at, false))
    each.addEventListener('keydown', ({ key }) => {
      if (key === 'ArrowRight') show((at + 1) % all.length, true)
      if (key === 'ArrowLeft') show((at + all.length - 1) % all.length, true)
    })
  }
  show(
    Math.max(
      0,
      all.findIndex(({ name }) => name === chosen.name),
    ),
    false,
  )
  return element(
    'div',
    { class: 'tabs' },
    element('div', { role: 'tablist', 'aria-label': label }, ...buttons),
    panel,
  )
}
