import { pageAt } from '#reference/articles.ts'
import { markup, type Markup } from '#reference/html.ts'
import { introduction } from '#reference/intro.ts'
import { reference } from '#reference/model.ts'

interface SearchEntry {
  readonly title: string
  readonly href: string
  readonly doc: string
  /** In lower case. */
  readonly text: string
}

const MAX_QUERY = 100
const MAX_FOUND = 100

const entry = (title: string, href: string, doc: string, more: readonly string[] = []): SearchEntry => ({
  title,
  href,
  doc,
  text: [title, doc, ...more].join(' ').toLowerCase(),
})

function allEntries(): SearchEntry[] {
  const collections = reference.groups.flatMap(group => group.collections)
  return [
    ...introduction.map(({ id, title, text }) => entry(title, `/docs#${id}`, text[0] ?? '', text)),
    ...collections.map(({ id, title, doc, fields, operations, prefix, events }) =>
      entry(title, pageAt(id), doc, [
        id,
        prefix === undefined ? '' : `${prefix}_`,
        ...fields.flatMap(({ name, doc: about }) => [name, about]),
        ...operations.flatMap(({ method, path, summary }) => [method, path, summary]),
        ...events,
      ]),
    ),
    ...reference.modules.map(({ id, title, doc, fields }) =>
      entry(
        `Module ${title}`,
        `${pageAt('modules')}#module-${id}`,
        doc,
        fields.flatMap(({ name, doc: about }) => [id, name, about]),
      ),
    ),
    ...reference.errors.map(({ id, code, text }) =>
      entry(code === '' ? id : code, `${pageAt('errors')}#error-${id}`, text, [id]),
    ),
    ...reference.otherEvents.map(type => entry(type, pageAt('events'), 'An event type.')),
  ]
}

let entries: readonly SearchEntry[] | undefined

/** Entries with all words of a query; titles that begin with it come first. */
function search(query: string): SearchEntry[] {
  entries ??= allEntries()
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  const found = entries.filter(({ text }) => words.every(word => text.includes(word)))
  const rank = ({ title }: SearchEntry): number => (title.toLowerCase().startsWith(words[0] ?? '') ? 0 : 1)
  return found.toSorted((one, other) => rank(one) - rank(other)).slice(0, MAX_FOUND)
}

/** The results of a search, computed by the server, since the pages have no scripts. */
export function searchArticle(given: string): Markup {
  const query = given.slice(0, MAX_QUERY)
  const found = search(query)
  const count = found.length === MAX_FOUND ? `The first ${MAX_FOUND}` : String(found.length)
  return markup`<h1>Search</h1>
    <p role="status">${count} found for &ldquo;${query}&rdquo;.</p>
    <ul class="found">
      ${found.map(({ title, href, doc }) => markup`<li><a href="${href}">${title}</a><p>${doc}</p></li>`)}
    </ul>`
}
