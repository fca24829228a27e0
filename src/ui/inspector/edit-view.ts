import { asText, fromBase64, toBase64 } from '#ui/bytes.ts'
import { element } from '#ui/element.ts'
import type { Detail } from '#ui/captured.ts'

export interface EditedRequest {
  readonly method: string
  readonly uri: string
  readonly headers: Record<string, string[]>
  /** Base64. */
  readonly body: string
}

const headerText = ({ request }: Detail): string =>
  Object.entries(request.headers)
    .filter(([name]) => name !== 'Content-Length' && name !== 'Transfer-Encoding')
    .flatMap(([name, values]) => values.map(value => `${name}: ${value}`))
    .join('\n')

function readHeaders(text: string): Record<string, string[]> {
  const headers: Record<string, string[]> = {}
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) (headers[line.slice(0, colon).trim()] ??= []).push(line.slice(colon + 1).trim())
  }
  return headers
}

/** A dialog for editing and sending a captured request. */
export function editDialog(detail: Detail, send: (edited: EditedRequest) => void): HTMLDialogElement {
  const original = fromBase64(detail.bodies.request.base64)
  const text = asText(original)
  const method = element('input', {
    value: detail.request.method,
    'aria-label': 'Method',
    size: 8,
    required: true,
  })
  const uri = element('input', { value: detail.request.uri, 'aria-label': 'Path', required: true })
  const headers = element('textarea', { rows: 10, 'aria-label': 'Headers', spellcheck: 'false' })
  const body = element('textarea', {
    rows: 12,
    'aria-label': 'Body',
    spellcheck: 'false',
    disabled: text === undefined,
  })
  headers.value = headerText(detail)
  body.value = text ?? `${original.length} bytes that are not text; they are sent unchanged`
  const edited = (): EditedRequest => ({
    method: method.value.trim(),
    uri: uri.value.trim(),
    headers: readHeaders(headers.value),
    // Unchanged parts must arrive byte by byte.
    body: toBase64(
      text === undefined || body.value === text ? original : new TextEncoder().encode(body.value),
    ),
  })
  const dialog = element('dialog', { class: 'edit', 'aria-label': 'Edit and replay' })
  const form = element(
    'form',
    {
      method: 'dialog',
      submit: () => send(edited()),
      keydown: event => {
        if (event instanceof KeyboardEvent && event.key === 'Enter' && (event.ctrlKey || event.metaKey))
          form.requestSubmit()
      },
    },
    element('h2', {}, 'Edit and replay'),
    element('div', { class: 'line' }, method, uri),
    element('label', {}, 'Headers', headers),
    element('label', {}, 'Body', body),
    element(
      'div',
      { class: 'actions' },
      element('button', { type: 'submit', title: 'Ctrl+Enter' }, 'Send'),
      element('button', { type: 'button', click: () => dialog.close() }, 'Cancel'),
    ),
  )
  dialog.append(form)
  dialog.addEventListener('close', () => dialog.remove())
  return dialog
}
