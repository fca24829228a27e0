import { bodyOf } from '#http/body.ts'
import type { Reply } from '#http/exchange.ts'
import { type HtmlPage, htmlOf, type RequestNote } from '#http/pages/html.ts'
import { serviceOf } from '#base/hints/service.ts'
import type { PageTheme } from '#http/pages/theme.ts'
import type { UnsentPage } from '#http/pages/unsent-page.ts'
import type { RequestContext } from '#http/request-context.ts'

/** The request and the client that a page is for. */
export interface PageAudience {
  readonly theme: PageTheme
  readonly ip: string
  readonly context: Pick<RequestContext, 'id' | 'tunnel'>
}

const USUAL_PORT = 3000
const NOTHING: RequestNote = { id: undefined, url: undefined }

/** The response with the body of its page; without a page it is returned as it is. */
export function withPage(reply: Reply, request: PageAudience): Reply {
  const { page, ...rest } = reply
  if (page === undefined) return reply
  const bytes = Buffer.from(textOf(page, request))
  const fields = rest.head.fields.with('Content-Security-Policy', request.theme.policy)
  if (page.isHead) return { ...rest, head: { ...rest.head, fields, announcedLength: bytes.length } }
  const body = bodyOf(bytes)
  return { ...rest, head: { ...rest.head, fields, framing: body.framing }, body }
}

function textOf({ content, format, error }: UnsentPage, request: PageAudience): string {
  const { theme, context, ip } = request
  const mayHint = theme.showsHints(ip)
  const page = error === undefined ? content : explained(content, error, request, mayHint)
  const url = mayHint ? theme.requestUrl(context.id) : undefined
  const shown = error === undefined ? NOTHING : { id: context.id, url }
  if (format === 'html') return htmlOf(page, theme, shown)
  return format === 'json' ? jsonOf(page, shown) : plainOf(page, shown)
}

/** The error with what its client may know: hints name the service of the agent, so they may be for some only. */
function explained(
  content: HtmlPage,
  { hint, brief, values }: NonNullable<UnsentPage['error']>,
  { context }: PageAudience,
  mayHint: boolean,
): HtmlPage {
  if (!mayHint) return { ...content, text: brief }
  const service = serviceOf(context.tunnel?.forwardsTo)
  const { owner, command } = (service && hint.forService?.(service)) ?? hint
  const filled = { ...values, port: String(service?.port ?? USUAL_PORT) }
  return {
    ...content,
    owner,
    command: command?.replaceAll(/\{(name|port|labels)\}/g, (_, name: keyof typeof filled) => filled[name]),
  }
}

function jsonOf({ code, status, text, visitor, owner, command }: HtmlPage, { id, url }: RequestNote): string {
  const details = { visitor, owner, command, request_id: id, request_url: url }
  return JSON.stringify({ error_code: code, status_code: status, msg: text, details }) + '\n'
}

function plainOf({ code, text, visitor, owner, command }: HtmlPage, { id, url }: RequestNote): string {
  const mended = [owner, command && `  ${command}`].filter(Boolean).join('\n')
  const found = [code, id && `Request ${id}`, url].filter(Boolean).join('\n')
  return [text, visitor, mended, found].filter(Boolean).join('\n\n') + '\n'
}
