import { element } from '#ui/element.ts'
import { byteSize, duration } from '#ui/format.ts'
import type { Summary } from '#ui/captured.ts'

/** More rows only slow the page down. */
const MAX_ROWS = 500

interface Row {
  readonly element: HTMLElement
  shown: Summary
}

const clock = (start: string): string => new Date(start).toTimeString().slice(0, 8)

const cell = (name: string, text: string): HTMLElement => element('span', { class: name }, text)

function cellsOf(summary: Summary): HTMLElement[] {
  const { status_code: status, duration: took } = summary
  const state = status === null ? '…' : String(status)
  return [
    cell(`status s${Math.floor((status ?? 0) / 100)}`, state),
    cell('method', summary.method),
    cell('path', summary.uri),
    cell('note', summary.replay_of === null ? '' : 'replay'),
    cell('size', status === null ? '' : byteSize(summary.response_size)),
    cell('duration', took === null ? '' : duration(took)),
    cell('time', clock(summary.start)),
  ]
}

/** The list of exchanges as a listbox; rows are reused, so that a fast stream costs little. */
export class ListView {
  readonly #list: HTMLElement
  readonly #choose: (id: string) => void
  readonly #rows = new Map<string, Row>()
  #chosen: string | undefined

  constructor(list: HTMLElement, choose: (id: string) => void) {
    this.#list = list
    this.#choose = choose
    list.addEventListener('click', ({ target }) => {
      const id =
        target instanceof Element ? target.closest<HTMLElement>('[data-id]')?.dataset['id'] : undefined
      if (id !== undefined) choose(id)
    })
  }

  /** Shows these, the newest first. */
  show(summaries: readonly Summary[]): void {
    const shown = summaries.slice(0, MAX_ROWS)
    const ids = new Set(shown.map(({ id }) => id))
    for (const [id, row] of this.#rows) {
      if (ids.has(id)) continue
      row.element.remove()
      this.#rows.delete(id)
    }
    let before = this.#list.firstElementChild
    for (const summary of shown) {
      const row = this.#rowOf(summary)
      if (row === before) before = before.nextElementSibling
      else this.#list.insertBefore(row, before)
    }
  }

  mark(id: string | undefined): void {
    for (const each of [this.#chosen, id]) {
      const row = each === undefined ? undefined : this.#rows.get(each)?.element
      row?.setAttribute('aria-selected', String(each === id))
      if (each === id) row?.scrollIntoView({ block: 'nearest' })
    }
    this.#chosen = id
    if (id === undefined) this.#list.removeAttribute('aria-activedescendant')
    else this.#list.setAttribute('aria-activedescendant', `row-${id}`)
  }

  /** Selects the row at this offset from the current one. */
  move(step: number): void {
    const rows = [...this.#list.children].map(each => (each as HTMLElement).dataset['id'] ?? '')
    const at = rows.indexOf(this.#chosen ?? '')
    const next = rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]
    if (next !== undefined) this.#choose(next)
  }

  #rowOf(summary: Summary): HTMLElement {
    const known = this.#rows.get(summary.id)
    if (known?.shown === summary) return known.element
    const made =
      known?.element ??
      element('div', { role: 'option', id: `row-${summary.id}`, 'data-id': summary.id, class: 'row' })
    made.setAttribute('aria-selected', String(summary.id === this.#chosen))
    made.replaceChildren(...cellsOf(summary))
    this.#rows.set(summary.id, { element: made, shown: summary })
    return made
  }
}
