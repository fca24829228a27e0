export interface WebPage {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The pages of the inspector; undefined when a path has none. */
export function pageFor(path: string): WebPage | undefined {
  if (path === '/') return { status: 302, headers: { location: '/inspect/http' }, body: '' }
  return undefined
}
