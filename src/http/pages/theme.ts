import { createHash } from 'node:crypto'
import { addressFilter } from '#base/address-filter.ts'
import { rangeText } from '#base/addresses.ts'
import { hintNetworks } from '#base/page-values.ts'
import type { GatewaySettings } from '#base/settings.ts'
import { darkened, readableOn } from '#http/pages/colours.ts'

type PageSettings = Pick<
  GatewaySettings,
  'page_name' | 'page_logo' | 'page_accent' | 'page_background' | 'page_hints' | 'page_dashboard_url'
>

/** What all pages of a gateway share, made once from its settings. */
export interface PageTheme {
  readonly name: string
  /** The operator has set the name, so pages show it above their content. */
  readonly isNamed: boolean
  /** The logo as a data URL; undefined without one. */
  readonly logo: string | undefined
  readonly style: string
  /** The Content-Security-Policy: this style sheet, the logo if there is one, and nothing else. */
  readonly policy: string
  /** Whether clients with this address see hints for the owner. */
  readonly showsHints: (ip: string) => boolean
  /** The page of a request in the dashboard; undefined when pages do not link to it. */
  readonly requestUrl: (id: string) => string | undefined
}

const LIGHT = { ink: '#1c2024', soft: '#5b646d', paper: '#ffffff', ground: '#f2f4f6', line: '#d9dee3' }
const DARK = { ink: '#e8eaed', soft: '#a3abb3', paper: '#1b1e22', ground: '#111316', line: '#343a41' }

const RULES = `
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;background:var(--back);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}
main{width:100%;max-width:38rem;padding:1.75rem;background:var(--paper);border:1px solid var(--line);border-radius:.75rem;overflow-wrap:anywhere}
header{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem .75rem;margin-bottom:1.25rem;font-weight:600}
img{max-width:100%;max-height:3rem}
h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25}
h2{margin:1.5rem 0 .25rem;font-size:1rem}
p{margin:0}
a{color:var(--link)}
ul{margin:.5rem 0 0;padding:0;list-style:none}
li a{display:block;margin-top:.5rem;padding:.625rem 1rem;border:1px solid var(--line);border-radius:.5rem}
code{font:.9375rem/1.5 ui-monospace,monospace}
pre{margin:.5rem 0 0;padding:.75rem 1rem;background:var(--ground);border:1px solid var(--line);border-radius:.5rem;white-space:pre-wrap}
footer{margin-top:1.75rem;padding-top:.75rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}
footer code{font-size:.8125rem}
`

export function pageTheme(settings: PageSettings): PageTheme {
  const { page_name: given, page_logo: logo, page_hints: hints, page_dashboard_url: dashboard } = settings
  const style = styleOf(settings)
  // The last three do not fall back on default-src.
  const policy =
    `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; ` +
    `${logo === undefined ? '' : 'img-src data:; '}base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  return {
    name: given ?? 'Adit',
    isNamed: given !== undefined,
    logo: logo && `data:${logo.type};base64,${logo.base64}`,
    style,
    policy,
    showsHints: addressFilter(hints.map(range => ({ cidr: rangeText(range), action: 'allow' }))),
    requestUrl: id => (dashboard === undefined ? undefined : `${dashboard}/dashboard/requests/${id}`),
  }
}

/** Without any setting. */
export const defaultTheme = pageTheme({
  page_name: undefined,
  page_logo: undefined,
  page_accent: undefined,
  page_background: undefined,
  page_hints: hintNetworks('on'),
  page_dashboard_url: undefined,
})

function styleOf({ page_accent: accent, page_background: background }: PageSettings): string {
  const root = (colours: typeof LIGHT, back: string): string => {
    const link = accent === undefined ? colours.ink : readableOn(colours.paper, accent)
    const all = Object.entries({ ...colours, back, link })
    return all.map(([name, value]) => `--${name}:${value}`).join(';')
  }
  // The content has a ground of its own, so any background leaves it readable.
  const light = root(LIGHT, background ?? LIGHT.ground)
  const dark = root(DARK, background === undefined ? DARK.ground : darkened(background))
  return (
    `\n:root{color-scheme:light dark;${light}}\n@media(prefers-color-scheme:dark){:root{${dark}}}` +
    `${RULES}${accent === undefined ? '' : `main{border-top:.375rem solid ${accent}}\n`}`
  )
}
