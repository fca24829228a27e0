import type { PageTheme } from '#http/pages/theme.ts'

export interface HtmlPage {
  readonly status: number
  /** As in ERR_ADIT_3200; empty if the error has no number. */
  readonly code: string
  readonly title: string
  readonly text: string
  readonly visitor: string
  readonly owner: string | undefined
  readonly command: string | undefined
  /** On the same site, or from the callback host to an endpoint. */
  readonly links?: readonly { readonly href: string; readonly text: string }[]
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, sign => ESCAPES[sign] ?? '')

/** The parts of a page that depend on its request. */
export interface RequestNote {
  /** Undefined on a page that is not an error. */
  readonly id: string | undefined
  /** Its page in the dashboard, for clients that may see the address. */
  readonly url: string | undefined
}

export function htmlOf(page: HtmlPage, theme: PageTheme, request: RequestNote): string {
  const title = escapeHtml(page.title)
  const owner =
    page.owner === undefined ? '' : `<h2>If you run this site</h2>\n<p>${escapeHtml(page.owner)}</p>\n`
  const command = page.command === undefined ? '' : `<pre><code>${escapeHtml(page.command)}</code></pre>\n`
  const links = (page.links ?? []).map(({ href, text }) => `<li>${anchor(href, text)}</li>\n`)
  const list = links.length === 0 ? '' : `<ul>\n${links.join('')}</ul>\n`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${theme.style}</style>
</head>
<body>
<main>
${headerOf(theme)}<h1>${title}</h1>
<p>${escapeHtml(page.text)}</p>
<h2>What you can do</h2>
<p>${escapeHtml(page.visitor)}</p>
${list}${owner}${command}${footerOf(page, theme, request)}</main>
</body>
</html>
`
}

const anchor = (href: string, text: string): string => `<a href="${escapeHtml(href)}">${escapeHtml(text)}</a>`

function headerOf({ name, logo, isNamed }: PageTheme): string {
  if (logo !== undefined) return `<header><img src="${logo}" alt="${escapeHtml(name)}"></header>\n`
  return isNamed ? `<header>${escapeHtml(name)}</header>\n` : ''
}

function footerOf({ status, code }: HtmlPage, { name }: PageTheme, { id, url }: RequestNote): string {
  // People read the status as an error, even 200.
  const about = [id === undefined ? '' : String(status), code, name]
    .filter(Boolean)
    .map(escapeHtml)
    .join(' · ')
  const shown = url === undefined ? '' : ` · ${anchor(url, 'Explain in the dashboard')}`
  const request = id === undefined ? '' : `<p>Request <code>${escapeHtml(id)}</code>${shown}</p>\n`
  return `<footer>\n<p>${about}</p>\n${request}</footer>\n`
}
