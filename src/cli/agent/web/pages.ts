import { uiFiles } from '#cli/agent/web/ui-files.ts'

interface WebPage {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const INSPECTOR = '/ui/inspector/index.html'

/** Paths of the inspector; old programs and bookmarks use several. */
const pages: ReadonlySet<string> = new Set(['/inspect/http', '/status'])
const moved: ReadonlySet<string> = new Set(['/', '/inspect', '/http/in'])

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
}

/** No external resources, and no captured content can run. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src blob: data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

/** The pages of the inspector and their parts; undefined for an unknown path. */
export function pageFor(path: string): WebPage | undefined {
  if (moved.has(path)) return { status: 302, headers: { location: '/inspect/http' }, body: '' }
  const name = pages.has(path) ? INSPECTOR : path
  const body = name.startsWith('/ui/') ? uiFiles().get(name) : undefined
  if (body === undefined) return undefined
  const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
  return { status: 200, headers: { 'content-type': type, 'content-security-policy': POLICY }, body }
}
