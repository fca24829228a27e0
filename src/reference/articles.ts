import { breakable, markup, prose, type Markup } from '#reference/html.ts'
import type { Chapter } from '#reference/intro.ts'
import { example, fieldTable, operationTable, table, when } from '#reference/tables.ts'
import { reference, type CollectionEntry, type ModuleEntry } from '#reference/model.ts'

/** The path of a reference page. */
export const pageAt = (id: string): string => `/docs/${id}`

function modulesOf({ modules, title }: CollectionEntry): Markup {
  const rows = modules.map(({ name, path, module: id }) => [
    markup`<a href="${pageAt('modules')}#module-${id}"><code>${name}</code></a>`,
    markup`<code>${breakable(path)}</code>`,
  ])
  return when(
    rows.length > 0,
    () =>
      markup`<h2>Modules</h2>
        <p>
          Each is null until it is set. PUT replaces a module, GET reads it, DELETE removes it. Modules can
          also be set when the resource is created or changed.
        </p>
        ${table(`Modules of ${title}`, 'modules', ['Module', 'Path'], rows)}`,
  )
}

/** One collection: its own page. */
export function collectionArticle(entry: CollectionEntry): Markup {
  const { id, title, doc, prefix, notes, events } = entry
  const facts = [...(prefix === undefined ? [] : [`Ids start with ${prefix}_.`]), ...notes]
  return markup`<article id="${id}" class="split">
    <header>
      <h1>${title}</h1>
      <p>${prose(doc)}</p>
      <ul class="facts">
        ${facts.map(fact => markup`<li>${fact}</li>`)}
      </ul>
    </header>
    <div class="example">
      <h2>Example</h2>
      ${example(entry.example)}
    </div>
    <div>
      <h2>Operations</h2>
      ${operationTable(title, entry.operations)}
      <h2>Fields</h2>
      ${fieldTable(title, entry.fields)} ${modulesOf(entry)}
      ${when(
        events.length > 0,
        () =>
          markup`<h2>Events</h2>
            <p class="quiet">${events.map(type => markup`<code>${type}</code> `)}</p>`,
      )}
    </div>
  </article> `
}

function moduleArticle({ id, title, doc, fields, usedBy }: ModuleEntry): Markup {
  const places = usedBy.map(({ collection: of, title: name, as }) => {
    return markup`<li><a href="${pageAt(of)}">${name}</a>, as <code>${as}</code></li>`
  })
  return markup`<article id="module-${id}" aria-labelledby="module-${id}-title">
    <header>
      <h2 id="module-${id}-title">${title}</h2>
      <p>${prose(doc)}</p>
      <ul class="facts">
        ${places}
      </ul>
    </header>
    <h3>Fields</h3>
    ${fieldTable(title, fields)}
  </article> `
}

/** General notes on all requests. */
export const chapterArticle = ({ id, title, text, code }: Chapter): Markup =>
  markup`<article id="${id}">
    <h3>${title}</h3>
    ${text.map(paragraph => markup`<p>${prose(paragraph)}</p>`)}${when(code !== undefined, () => example(code ?? ''))}
  </article> `

export const modulesArticle = (): Markup =>
  markup`<h1>Modules</h1>
    <p>Modules process the traffic of an edge, a route or an endpoint configuration.</p>
    ${reference.modules.map(moduleArticle)}`

const eventList = (types: readonly string[]): Markup =>
  markup`<ul class="columns">
    ${types.map(type => markup`<li><code>${type}</code></li>`)}
  </ul>`

export function eventsArticle(): Markup {
  const audited = reference.groups.flatMap(({ collections }) => collections.flatMap(({ events }) => events))
  return markup`<h1>Events</h1>
    <p>
      Every change of a resource is recorded as an event of one of these types, and sent to the destinations
      of the subscriptions that name it.
    </p>
    ${eventList(audited)}
    <p>
      Subscriptions may also name these. The first four are about traffic; the others exist for clients that
      know them, and never occur.
    </p>
    ${eventList(reference.otherEvents)}`
}

export function errorsArticle(): Markup {
  const rows = reference.errors.map(({ id, code, status, text }) => [
    markup`<span id="error-${id}"></span>${code === '' ? 'no code' : markup`<code>${code}</code>`}
      <span class="type">${status}</span>`,
    markup`${text}`,
  ])
  return markup`<h1>Errors</h1>
    <p>
      Words in braces are placeholders. A client that sends <code>Ngrok-Version</code> gets
      <code>ERR_NGROK_</code> with the same number.
    </p>
    ${table('Errors', 'errors', ['Code and status', 'Message'], rows)}`
}
