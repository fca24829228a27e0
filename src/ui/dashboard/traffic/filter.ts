import { streams } from '#contract/streams.ts'

type RequestFilters = Readonly<Record<string, string>>

export interface RequestQuery {
  /** Applied by the server. */
  readonly filters: RequestFilters
  /** Words that method, host or path must contain. */
  readonly words: readonly string[]
}

const names = Object.keys(streams.requests.filters)

/** `status:5xx host:shop.example.com cart` gives two filters and a word. */
export function parseFilter(text: string): RequestQuery {
  const filters: Record<string, string> = {}
  const words: string[] = []
  for (const part of text.split(/\s+/).filter(each => each !== '')) {
    const [, name = '', value = ''] = /^(\w+):(.+)$/.exec(part) ?? []
    if (names.includes(name)) filters[name] = value
    else if (!names.some(each => part === `${each}:`)) words.push(part.toLowerCase())
  }
  return { filters, words }
}

const values: Readonly<Record<string, readonly string[]>> = {
  status: ['2xx', '3xx', '4xx', '5xx'],
  failed: ['any', 'visitor', 'edge', 'tunnel', 'agent', 'upstream'],
  method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
}

/** What the last word of the text can become. */
export function completions(text: string, hosts: readonly string[]): string[] {
  const at = text.lastIndexOf(' ') + 1
  const [before, word] = [text.slice(0, at), text.slice(at)]
  const known = names.flatMap(name =>
    (name === 'host' ? hosts : (values[name] ?? [''])).map(value => `${name}:${value}`),
  )
  return known.filter(each => each.startsWith(word) && each !== word).map(each => before + each)
}

export const matchesWords = (
  { words }: RequestQuery,
  { method, host, path }: { readonly method: string; readonly host: string; readonly path: string },
): boolean => {
  if (words.length === 0) return true
  const text = `${method} ${host}${path}`.toLowerCase()
  return words.every(word => text.includes(word))
}
