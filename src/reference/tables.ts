import type { FieldLine } from '#reference/fields.ts'
import { breakable, markup, prose, type Markup } from '#reference/html.ts'
import type { OperationLine } from '#reference/model.ts'

const none = markup``
/** Optional markup. */
export const when = (condition: boolean, content: () => Markup): Markup => (condition ? content() : none)

/** On narrow screens rows become blocks, which removes the table semantics unless roles restore them. */
export function table(
  label: string,
  kind: string,
  headings: readonly string[],
  rows: readonly Markup[][],
): Markup {
  const heads = headings.map(heading => markup`<th role="columnheader" scope="col">${heading}</th>`)
  const body = rows.map(
    cells =>
      markup`<tr role="row">
        ${cells.map(cell => markup`<td role="cell">${cell}</td>`)}
      </tr> `,
  )
  return markup`<table role="table" class="${kind}" aria-label="${label}">
    <thead role="rowgroup">
      <tr role="row">
        ${heads}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${body}
    </tbody>
  </table> `
}

function fieldCells(field: FieldLine): Markup[] {
  const { name, writtenAs, type, doc, when: given, fallback, limits, secret } = field
  const tags = [
    markup`<li class="${given.split(',')[0] ?? ''}">${given}</li>`,
    when(
      writtenAs !== undefined,
      () => markup`<li>written as <code>${breakable(writtenAs ?? '')}</code></li>`,
    ),
    when(fallback !== undefined, () => markup`<li>default <code>${fallback ?? ''}</code></li>`),
    limits.map(limit => markup`<li>${limit}</li>`),
    when(secret !== undefined, () => markup`<li class="secret">${secret ?? ''}</li>`),
  ]
  return [
    markup`<code class="name">${breakable(name)}</code> <span class="type">${type}</span>`,
    markup`${when(doc !== '', () => markup`<p>${prose(doc)}</p>`)}
      <ul class="tags">
        ${tags}
      </ul>`,
  ]
}

export const fieldTable = (of: string, fields: readonly FieldLine[]): Markup =>
  table(`Fields of ${of}`, 'fields', ['Field', 'Meaning'], fields.map(fieldCells))

const operationCells = ({ method, path, summary, body, answer }: OperationLine): Markup[] => [
  markup`<div class="call">
    <span class="method ${method}">${method}</span> <code>${breakable(path)}</code>
  </div>`,
  markup`<p>${summary}</p>
    <span class="type">Body: ${body}. Answer: ${answer}.</span>`,
]

export const operationTable = (of: string, operations: readonly OperationLine[]): Markup =>
  table(`Operations of ${of}`, 'operations', ['Request', 'Description'], operations.map(operationCells))

export const example = (code: string): Markup =>
  markup`<pre tabindex="0" role="group" aria-label="Example"><code>${code}</code></pre>`
