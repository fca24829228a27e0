import { breakable, markup, prose, type Markup } from '#contract/reference-html.ts'
import { introduction, type Chapter } from '#contract/reference-intro.ts'
import { style } from '#contract/reference-style.ts'
import { example, fieldTable, operationTable, table, when } from '#contract/reference-tables.ts'
import { reference, type CollectionEntry, type Group, type ModuleEntry } from '#contract/reference.ts'

function modulesOf({ modules, title }: CollectionEntry): Markup {
  const rows = modules.map(({ name, path, module: id }) => [
    markup`<a href="#module-${id}"><code>${name}</code></a>`,
    markup`<code>${breakable(path)}</code>`,
  ])
  return when(
    rows.length > 0,
    () =>
      markup`<h4>Modules</h4>
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
  return markup`<article id="${id}" class="split" aria-labelledby="${id}-title">
    <header>
      <h3 id="${id}-title">${title}</h3>
      <p>${prose(doc)}</p>
      <ul class="facts">
        ${facts.map(fact => markup`<li>${fact}</li>`)}
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
          markup`<h4>Events</h4>
            <p class="quiet">${events.map(type => markup`<code>${type}</code> `)}</p>`,
      )}
    </div>
  </article> `
}

const group = ({ id, title, doc, collections }: Group): Markup =>
  markup`<section aria-labelledby="group-${id}">
    <h2 id="group-${id}">${title}</h2>
    <p>${doc}</p>
    ${collections.map(collection)}
  </section> `

function moduleArticle({ id, title, doc, fields, usedBy }: ModuleEntry): Markup {
  const places = usedBy.map(({ collection: of, title: name, as }) => {
    return markup`<li><a href="#${of}">${name}</a>, as <code>${as}</code></li>`
  })
  return markup`<article id="module-${id}" aria-labelledby="module-${id}-title">
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
  markup`<article id="${id}">
    <h3>${title}</h3>
    ${text.map(paragraph => markup`<p>${prose(paragraph)}</p>`)}${when(code !== undefined, () => example(code ?? ''))}
  </article> `

const errorRows = reference.errors.map(({ id, code, status, text }) => [
  markup`<span id="error-${id}"></span>${code === '' ? 'no code' : markup`<code>${code}</code>`}
    <span class="type">${status}</span>`,
  markup`${text}`,
])

const eventList = (types: readonly string[]): Markup =>
  markup`<ul class="columns">
    ${types.map(type => markup`<li><code>${type}</code></li>`)}
  </ul>`

const audited = reference.groups.flatMap(({ collections }) => collections.flatMap(({ events }) => events))

const closing = markup`<section aria-labelledby="modules">
    <h2 id="modules">Modules</h2>
    <p>What an edge, a route or an endpoint configuration does with its traffic.</p>
    ${reference.modules.map(moduleArticle)}
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
  markup`<ul>
    ${entries.map(({ id, title }) => markup`<li><a href="#${id}">${title}</a></li>`)}
  </ul>`

const ends = [
  { id: 'modules', title: 'Modules' },
  { id: 'events', title: 'Events' },
  { id: 'errors', title: 'Errors' },
]

const navigation = markup`<nav aria-label="Contents">
  <p class="brand">Adit reference</p>
  <details>
    <summary>Contents</summary>
    <h2>Basics</h2>
    ${links([...introduction, { id: 'singletons', title: 'Root and self' }])}
    ${reference.groups.map(
      ({ title, collections }) =>
        markup`<h2>${title}</h2>
          ${links(collections)}`,
    )}
    <h2>Tables</h2>
    ${links(ends)}
  </details>
</nav> `

const page = markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Adit management API</title><style>
`

const content = markup`</style></head><body>
<a class="skip" href="#content">Skip to the content</a>
${navigation}<main id="content"><h1>Adit management API</h1>
<p>Everything that can be called, on one page. The same as OpenAPI 3.1: <a href="/openapi.json">openapi.json</a>.</p>
<section class="basics" aria-labelledby="basics"><h2 id="basics">Basics</h2>${introduction.map(chapter)}
<article id="singletons"><h3>Root and self</h3>${operationTable('the API', reference.singletons)}</article></section>
${reference.groups.map(group)}${closing}</main></body></html>
`

const whole = page.text + style + content.text

/** The whole reference as one page that loads nothing; made once. */
export const referencePage = (): string => whole
