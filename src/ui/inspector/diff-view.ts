import { diffLines, diffSigns } from '#ui/diff.ts'
import { element } from '#ui/element.ts'
import { responseText } from '#ui/response-text.ts'
import type { Detail, Summary } from '#ui/captured.ts'

const MAX_CANDIDATES = 50

/** Candidates for comparison: the original of a replay first, then the same path. */
export function candidatesFor(detail: Detail, all: readonly Summary[]): Summary[] {
  const { id, replay_of: original, request } = detail
  const score = (summary: Summary): number => {
    if (summary.id === original || summary.replay_of === id) return 0
    return summary.uri === request.uri && summary.method === request.method ? 1 : 2
  }
  return all
    .filter(summary => summary.id !== id && summary.status_code !== null)
    .toSorted((left, right) => score(left) - score(right))
    .slice(0, MAX_CANDIDATES)
}

/** The differences between two responses. */
function diffView(before: Detail, after: Detail): HTMLElement {
  const lines = diffLines(responseText(before), responseText(after))
  const changes = lines.filter(({ kind }) => kind !== 'same').length
  return element(
    'div',
    {},
    element('p', { class: 'hint' }, changes === 0 ? 'The responses are equal.' : `${changes} changed lines`),
    element(
      'pre',
      { class: 'diff', tabindex: 0 },
      ...lines.map(({ kind, text }) => element('span', { class: kind }, `${diffSigns[kind]} ${text}\n`)),
    ),
  )
}

/** A dialog that compares a response with another one. */
export function diffDialog(
  detail: Detail,
  candidates: readonly Summary[],
  load: (id: string) => Promise<Detail>,
): HTMLDialogElement {
  const result = element('div', {})
  const choice = element(
    'select',
    { 'aria-label': 'Compare with' },
    ...candidates.map(each =>
      element(
        'option',
        { value: each.id },
        `${new Date(each.start).toTimeString().slice(0, 8)} ${each.status_code ?? ''} ${each.method} ${each.uri.slice(0, 80)}`,
      ),
    ),
  )
  const compare = async (): Promise<void> => {
    if (choice.value !== '') result.replaceChildren(diffView(await load(choice.value), detail))
  }
  choice.addEventListener('change', () => void compare())
  void compare()
  const dialog = element(
    'dialog',
    { class: 'edit', 'aria-label': 'Response diff' },
    element('h2', {}, 'Response diff'),
    element('label', {}, 'Compare with', choice),
    candidates.length === 0 && element('p', { class: 'hint' }, 'There is no other response.'),
    result,
    element(
      'div',
      { class: 'actions' },
      element('button', { type: 'button', click: () => dialog.close() }, 'Close'),
    ),
  )
  dialog.addEventListener('close', () => dialog.remove())
  return dialog
}
