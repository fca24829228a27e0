import { createHash } from 'node:crypto'

export interface HtmlPage {
  readonly status: number
  /** As in ERR_ADIT_3200; empty if the error has no number. */
  readonly code: string
  readonly title: string
  readonly text: string
  readonly visitor: string
  readonly owner: string | undefined
  readonly command: string | undefined
  /** A link on the same site. */
  readonly link?: { readonly href: string; readonly text: string }
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5b646d;--paper:#fff;--ground:#f2f4f6;--line:#d9dee3}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a3abb3;--paper:#1b1e22;--ground:#111316;--line:#343a41}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;background:var(--ground);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}
main{width:100%;max-width:38rem;padding:1.75rem;background:var(--paper);border:1px solid var(--line);border-radius:.75rem;overflow-wrap:anywhere}
h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25}
h2{margin:1.5rem 0 .25rem;font-size:1rem}
p{margin:0}
a{color:inherit}
pre{margin:.5rem 0 0;padding:.75rem 1rem;background:var(--ground);border:1px solid var(--line);border-radius:.5rem;white-space:pre-wrap;font:.9375rem/1.5 ui-monospace,monospace}
footer{margin-top:1.75rem;padding-top:.75rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}
`

/** The hash of the only allowed style sheet, so that injected markup cannot bring its own. */
export const styleHash = `sha256-${createHash('sha256').update(STYLE).digest('base64')}`

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, sign => ESCAPES[sign] ?? '')

export function htmlOf(page: HtmlPage): string {
  const title = escapeHtml(page.title)
  const owner =
    page.owner === undefined ? '' : `<h2>If you run this site</h2>\n<p>${escapeHtml(page.owner)}</p>\n`
  const command = page.command === undefined ? '' : `<pre><code>${escapeHtml(page.command)}</code></pre>\n`
  const link = page.link
    ? `<p><a href="${escapeHtml(page.link.href)}">${escapeHtml(page.link.text)}</a></p>\n`
    : ''
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${escapeHtml(page.text)}</p>
<h2>What you can do</h2>
<p>${escapeHtml(page.visitor)}</p>
${link}${owner}${command}<footer>${[String(page.status), escapeHtml(page.code)].filter(Boolean).join(' · ')} · Adit</footer>
</main>
</body>
</html>
`
}
