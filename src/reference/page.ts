import {
  chapterArticle,
  collectionArticle,
  errorsArticle,
  eventsArticle,
  modulesArticle,
  pageAt,
} from '#reference/articles.ts'
import { markup, prose, type Markup } from '#reference/html.ts'
import { EXAMPLE_URL, introduction } from '#reference/intro.ts'
import { searchArticle } from '#reference/search.ts'
import { style } from '#reference/style.ts'
import { operationTable } from '#reference/tables.ts'
import { reference, type Group } from '#reference/model.ts'

interface PageOptions {
  /** The API URL in examples. */
  readonly base?: string
  /** The search query; only the page `search` has it. */
  readonly query?: string
}

const tables = [
  { id: 'modules', title: 'Modules' },
  { id: 'events', title: 'Events' },
  { id: 'errors', title: 'Errors' },
]

const links = (entries: readonly { id: string; title: string }[], href: (id: string) => string): Markup =>
  markup`<ul>
    ${entries.map(({ id, title }) => markup`<li><a href="${href(id)}">${title}</a></li>`)}
  </ul>`

const navigation = (query: string): Markup =>
  markup`<nav aria-label="Contents">
    <p class="brand"><a href="/docs">Adit reference</a></p>
    <form action="/docs/search" role="search">
      <input type="search" name="q" value="${query}" maxlength="100" aria-label="Search the reference" />
      <button>Search</button>
    </form>
    <details>
      <summary>Contents</summary>
      <h2>Basics</h2>
      ${links([...introduction, { id: 'singletons', title: 'Root, self, status, settings, licences, reload, usage and sign-in' }], id => `/docs#${id}`)}
      ${reference.groups.map(
        ({ title, collections }) =>
          markup`<h2>${title}</h2>
            ${links(collections, pageAt)}`,
      )}
      <h2>Tables</h2>
      ${links(tables, pageAt)}
    </details>
  </nav> `

const groupSection = ({ id, title, doc, collections }: Group): Markup =>
  markup`<section aria-labelledby="group-${id}">
    <h2 id="group-${id}">${title}</h2>
    <p>${doc}</p>
    <ul class="found">
      ${collections.map(
        entry => markup`<li><a href="${pageAt(entry.id)}">${entry.title}</a><p>${prose(entry.doc)}</p></li>`,
      )}
    </ul>
  </section> `

function startArticle(base: string): Markup {
  const chapters = introduction.map(({ code, ...chapter }) => ({
    ...chapter,
    ...(code !== undefined && { code: code.replaceAll(EXAMPLE_URL, base) }),
  }))
  return markup`<h1>Adit management API</h1>
    <p>
      All operations of the API. Also available as OpenAPI 3.1: <a href="/openapi.json">openapi.json</a>.
    </p>
    <section class="basics" aria-labelledby="basics">
      <h2 id="basics">Basics</h2>
      ${chapters.map(chapterArticle)}
      <article id="singletons"><h3>Root, self, status, settings, licences, reload, usage and sign-in</h3>
        ${operationTable('the API', reference.singletons)}</article>
    </section>
    ${reference.groups.map(groupSection)}`
}

const collections = new Map(
  reference.groups.flatMap(group => group.collections).map(entry => [entry.id, entry]),
)

function contentOf(id: string, { base = EXAMPLE_URL, query = '' }: PageOptions): Markup | undefined {
  const collection = collections.get(id)
  if (collection) return collectionArticle(collection)
  switch (id) {
    case '':
      return startArticle(base)
    case 'modules':
      return modulesArticle()
    case 'events':
      return eventsArticle()
    case 'errors':
      return errorsArticle()
    case 'search':
      return searchArticle(query)
    default:
      return undefined
  }
}

/** The ids of all pages except the search; the first page has the empty one. */
export const pageIds: readonly string[] = ['', ...collections.keys(), ...tables.map(({ id }) => id)]

/** A reference page, without scripts or external resources; undefined if there is none. */
export function referencePage(id: string, options: PageOptions = {}): string | undefined {
  const content = contentOf(id, options)
  if (!content) return undefined
  const name = collections.get(id)?.title ?? tables.find(table => table.id === id)?.title
  const head = markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${name === undefined ? '' : `${name} - `}Adit management API</title><style>
`
  const body = markup`</style></head><body>
<a class="skip" href="#content">Skip to the content</a>
${navigation(options.query ?? '')}<main id="content">${content}</main></body></html>
`
  return head.text + style + body.text
}
