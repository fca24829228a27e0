import { hasPrefixOf } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'
import { titleOf } from '#contract/names.ts'
import { api } from '#ui/dashboard/api.ts'
import { href } from '#ui/dashboard/router.ts'
import { isAdmin } from '#ui/dashboard/session.ts'
import { hrefOf, pagesOf, sections } from '#ui/dashboard/sections.ts'

export interface Hit {
  readonly title: string
  readonly what: string
  readonly href: string
}

/** A string of the filter language. */
const quoted = (text: string): string => JSON.stringify(text)

/** Pages with these words in their title, and the page of an id. */
export function pageHits(text: string): Hit[] {
  const words = text.toLowerCase().split(/\s+/)
  const pages = sections.flatMap(section =>
    pagesOf(section, isAdmin.value).map(page => ({
      title: page.title,
      what: section.title,
      href: hrefOf(page),
    })),
  )
  const ids = Object.entries(kinds).flatMap(([collection, kind]): Hit[] =>
    hasPrefixOf(kind, text) && !kind.parent
      ? [{ title: text, what: titleOf(kind.name), href: href([collection, text]) }]
      : [],
  )
  return [...ids, ...pages.filter(({ title }) => words.every(word => title.toLowerCase().includes(word)))]
}

const LIMIT = 5

/** Endpoints and domains whose name contains the text. */
export async function hostHits(text: string): Promise<Hit[]> {
  if (text.length < 2) return []
  const [endpoints, domains] = await Promise.all([
    api.endpoints.list({ limit: LIMIT, filter: `obj.public_url.contains(${quoted(text)})` }),
    api.reserved_domains.list({ limit: LIMIT, filter: `obj.domain.contains(${quoted(text)})` }),
  ])
  return [
    ...endpoints.items.map(({ id, public_url: title }) => ({
      title,
      what: 'Endpoint',
      href: href(['endpoints', id]),
    })),
    ...domains.items.map(({ id, domain: title }) => ({
      title,
      what: 'Domain',
      href: href(['reserved_domains', id]),
    })),
  ]
}
