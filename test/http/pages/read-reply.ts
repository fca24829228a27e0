import type { Reply } from '#http/exchange.ts'
import type { RefusedRequest } from '#http/pages.ts'
import { Fields } from '#http/fields.ts'
import { type PageAudience, withPage } from '#http/pages/send-page.ts'
import { defaultTheme } from '#http/pages/theme.ts'

/** What a page is made from: a request for a host with an Accept field. */
export const asked = (host: string, accept = '*/*', method = 'GET'): NonNullable<RefusedRequest> => ({
  method,
  host,
  fields: new Fields(`Accept: ${accept}\r\n`),
})

export const REQUEST_ID = 'rq_0123456789abcdefghijklmnopq'

/** The reply as it is sent: with the body of its page. */
export const sentReply = (reply: Reply, request: Partial<PageAudience> = {}): Reply =>
  withPage(reply, {
    theme: defaultTheme,
    ip: '192.0.2.7',
    context: { id: REQUEST_ID, tunnel: undefined },
    ...request,
  })

/** The content of a reply as text. */
export function contentOf(reply: Reply, request: Partial<PageAudience> = {}): string {
  const pieces: Buffer[] = []
  const { body } = sentReply(reply, request)
  body.read({ data: bytes => pieces.push(bytes), end: () => undefined, fail: () => undefined }, false)
  return Buffer.concat(pieces).toString('utf8')
}
