import type { ComponentChildren, JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'

export interface TabContent {
  readonly name: string
  readonly content: () => ComponentChildren
}

/** Tabs by the WAI-ARIA pattern: arrow keys move between them. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly TabContent[] }): JSX.Element {
  const [at, setAt] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = (at + step + tabs.length) % tabs.length
    setAt(next)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }
  return (
    <div class="tabs">
      <div ref={list} role="tablist" aria-label={label} onKeyDown={press}>
        {tabs.map(({ name }, index) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={index === at}
            tabIndex={index === at ? 0 : -1}
            onClick={() => setAt(index)}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" tabIndex={0} aria-label={tabs[at]?.name}>
        {tabs[at]?.content()}
      </div>
    </div>
  )
}
