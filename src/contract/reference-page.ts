import { breakable, html, prose, type Markup } from '#contract/reference-html.ts'
import { introduction, type Chapter } from '#contract/reference-intro.ts'
import type { FieldLine } from '#contract/reference-fields.ts'
import { style } from '#contract/reference-style.ts'
import {
  reference,
  type CollectionEntry,
  type Group,
  type ModuleEntry,
  type OperationLine,
} from '#contract/reference.ts'

const none = html``
const when = (condition: boolean, markup: () => Markup): Markup => (condition ? markup() : none)

/** On narrow screens rows become blocks, which takes a table's meaning away unless the roles say it again. */
function table(label: string, kind: string, headings: readonly string[], rows: readonly Markup[][]): Markup {
  const heads = headings.map(heading => html`<th role="columnheader" scope="col">${heading}</th>`)
  const body = rows.map(
    cells =>
      html`<tr role="row">
        ${cells.map(cell => html`<td role="cell">${cell}</td>`)}
      </tr> `,
  )
  return html`<table role="table" class="${kind}" aria-label="${label}">
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
    html`<li class="${given.split(',')[0] ?? ''}">${given}</li>`,
    when(writtenAs !== undefined, () => html`<li>written as <code>${breakable(writtenAs ?? '')}</code></li>`),
    when(fallback !== undefined, () => html`<li>default <code>${fallback ?? ''}</code></li>`),
    limits.map(limit => html`<li>${limit}</li>`),
    when(secret !== undefined, () => html`<li class="secret">${secret ?? ''}</li>`),
  ]
  return [
    html`<code class="name">${breakable(name)}</code> <span class="type">${type}</span>`,
    html`${when(doc !== '', () => html`<p>${prose(doc)}</p>`)}
      <ul class="tags">
        ${tags}
      </ul>`,
  ]
}

const fieldTable = (of: string, fields: readonly FieldLine[]): Markup =>
  table(`Fields of ${of}`, 'fields', ['Field', 'Meaning'], fields.map(fieldCells))

const operationCells = ({ method, path, summary, body, answer }: OperationLine): Markup[] => [
  html`<div class="call">
    <span class="method ${method}">${method}</span> <code>${breakable(path)}</code>
  </div>`,
  html`<p>${summary}</p>
    <span class="type">Body: ${body}. Answer: ${answer}.</span>`,
]

const operationTable = (of: string, operations: readonly OperationLine[]): Markup =>
  table(`Operations of ${of}`, 'operations', ['Call', 'What it does'], operations.map(operationCells))

const example = (code: string): Markup =>
  html`<pre tabindex="0" role="group" aria-label="Example"><code>${code}</code></pre>`

function modulesOf({ modules, title }: CollectionEntry): Markup {
  const rows = modules.map(({ name, path, module }) => [
    html`<a href="#module-${module}"><code>${name}</code></a>`,
    html`<code>${breakable(path)}</code>`,
  ])
  return when(
    rows.length > 0,
    () =>
      html`<h4>Modules</h4>
        <p>
          Each is null until it is set. PUT sets a module whole, GET reads it, DELETE removes it. They can
          also be given when the resource is made or changed.
        </p>
        ${table(`Modules of ${title}`, 'modules', ['Module', 'Path'], rows)}`,
  )
}

function collection(entry: CollectionEntry): Markup {
  const { id, title, doc, prefix, notes, events } = entry
  const facts = [...(prefix === undefined ? [] : [`Ids start with ${prefix}_.`]), ...notes]
  return html`<article id="${id}" class="split" aria-labelledby="${id}-title">
    <header>
      <h3 id="${id}-title">${title}</h3>
      <p>${prose(doc)}</p>
      <ul class="facts">
        ${facts.map(fact => html`<li>${fact}</li>`)}
      </ul>
    </header>
    <div class="example">
      <h4>Example</h4>
      ${example(entry.example)}
    </div>
    <div>
      <h4>Operations</h4>
      ${operationTable(title, entry.operations)}
      <h4>Fields</h4>
      ${fieldTable(title, entry.fields)} ${modulesOf(entry)}
      ${when(
        events.length > 0,
        () =>
          html`<h4>Events</h4>
            <p class="quiet">${events.map(type => html`<code>${type}</code> `)}</p>`,
      )}
    </div>
  </article> `
}

const group = ({ id, title, doc, collections }: Group): Markup =>
  html`<section aria-labelledby="group-${id}">
    <h2 id="group-${id}">${title}</h2>
    <p>${doc}</p>
    ${collections.map(collection)}
  </section> `

function module({ id, title, doc, fields, usedBy }: ModuleEntry): Markup {
  const places = usedBy.map(({ collection: of, title: name, as }) => {
    return html`<li><a href="#${of}">${name}</a>, as <code>${as}</code></li>`
  })
  return html`<article id="module-${id}" aria-labelledby="module-${id}-title">
    <header>
      <h3 id="module-${id}-title">${title}</h3>
      <p>${prose(doc)}</p>
      <ul class="facts">
        ${places}
      </ul>
    </header>
    <h4>Fields</h4>
    ${fieldTable(title, fields)}
  </article> `
}

const chapter = ({ id, title, text, code }: Chapter): Markup =>
  html`<article id="${id}">
    <h3>${title}</h3>
    ${text.map(paragraph => html`<p>${prose(paragraph)}</p>`)}${when(code !== undefined, () => example(code ?? ''))}
  </article> `

const errorRows = reference.errors.map(({ id, code, status, text }) => [
  html`<span id="error-${id}"></span><code>${code === '' ? 'no code' : code}</code>
    <span class="type">${status}</span>`,
  html`${text}`,
])

const eventList = (types: readonly string[]): Markup =>
  html`<ul class="columns">
    ${types.map(type => html`<li><code>${type}</code></li>`)}
  </ul>`

const audited = reference.groups.flatMap(({ collections }) => collections.flatMap(({ events }) => events))

const closing = html`<section aria-labelledby="modules">
    <h2 id="modules">Modules</h2>
    <p>What an edge, a route or an endpoint configuration does with its traffic.</p>
    ${reference.modules.map(module)}
  </section>
  <section aria-labelledby="events">
    <h2 id="events">Events</h2>
    <p>
      Every change of a resource is recorded as an event of one of these types. Delivery comes with a later
      release.
    </p>
    ${eventList(audited)}
    <p>
      Subscriptions may also name these. The first four come with the gateway; the others exist for clients
      that know them, and never happen here.
    </p>
    ${eventList(reference.otherEvents)}
  </section>
  <section aria-labelledby="errors">
    <h2 id="errors">Errors</h2>
    <p>
      Words in braces are filled in. A caller that sends <code>Ngrok-Version</code> reads
      <code>ERR_NGROK_</code> with the same number.
    </p>
    ${table('Errors', 'errors', ['Code and status', 'Message'], errorRows)}
  </section> `

const links = (entries: readonly { id: string; title: string }[]): Markup =>
  html`<ul>
    ${entries.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
  </ul>`

const ends = [
  { id: 'modules', title: 'Modules' },
  { id: 'events', title: 'Events' },
  { id: 'errors', title: 'Errors' },
]

const navigation = html`<nav aria-label="Contents">
  <p class="brand">Adit reference</p>
  <details>
    <summary>Contents</summary>
    <h2>Basics</h2>
    ${links([...introduction, { id: 'singletons', title: 'Root and self' }])}
    ${reference.groups.map(
      ({ title, collections }) =>
        html`<h2>${title}</h2>
          ${links(collections)}`,
    )}
    <h2>Tables</h2>
    ${links(ends)}
  </details>
</nav> `

const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Adit management API</title><style>
`

const content = html`</style></head><body>
<a class="skip" href="#content">Skip to the content</a>
${navigation}<main id="content"><h1>Adit management API</h1>
<p>Everything that can be called, on one page. The same as OpenAPI 3.1: <a href="/openapi.json">openapi.json</a>.</p>
${introduction.map(chapter)}<article id="singletons"><h3>Root and self</h3>
${operationTable('the API', reference.singletons)}</article>
${reference.groups.map(group)}${closing}</main></body></html>
`

const whole = page.text + style + content.text

/** The whole reference as one page that loads nothing; made once. */
export const referencePage = (): string => whole
