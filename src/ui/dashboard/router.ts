import { signal } from '@preact/signals'

/** Where the pages of the dashboard are; the overview is also at `/`. */
const BASE = '/dashboard'

const here = () => ({
  path: decoded(location.pathname),
  query: new URLSearchParams(location.search),
})

/** The segments of the path below the base. A segment that is not valid UTF-8 stays encoded. */
function decoded(path: string): readonly string[] {
  const below = path.startsWith(BASE) ? path.slice(BASE.length) : path
  return below
    .split('/')
    .filter(segment => segment !== '')
    .map(segment => {
      try {
        return decodeURIComponent(segment)
      } catch {
        return segment
      }
    })
}

export const place = signal(here())

/** The address of a page. */
export function href(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString()
  return [BASE, ...path.map(encodeURIComponent)].join('/') + (search === '' ? '' : `?${search}`)
}

/** Pages for signing in, also the one that a provider sends the browser back to: a session leads to the overview. */
export const isSignInPath = ([first]: readonly string[]): boolean => first === 'login' || first === 'oidc'

export function go(to: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', to)
  else history.replaceState(null, '', to)
  place.value = here()
  if (how === 'push') globalThis.scrollTo(0, 0)
}

/** Shows pages of the dashboard without loading the document again. */
export function startRouter(): void {
  addEventListener('popstate', () => (place.value = here()))
  document.addEventListener('click', event => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
    if (!link || !isPlain || event.defaultPrevented || link.target !== '' || link.hasAttribute('download'))
      return
    const to = new URL(link.href)
    if (to.origin !== location.origin || !(to.pathname === '/' || to.pathname.startsWith(BASE))) return
    event.preventDefault()
    go(to.pathname + to.search)
  })
}
