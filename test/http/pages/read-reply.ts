import type { Reply } from '#http/exchange.ts'
import type { Asked } from '#http/pages.ts'
import { Fields } from '#http/fields.ts'

/** What a page is made from: a request for a host with an Accept field. */
export const asked = (host: string, accept = '*/*', method = 'GET'): NonNullable<Asked> => ({
  method,
  host,
  fields: new Fields(`Accept: ${accept}\r\n`),
})

/** The content of a reply as text. */
export function contentOf(reply: Reply): string {
  const pieces: Buffer[] = []
  reply.body.read({ data: bytes => pieces.push(bytes), end: () => undefined, fail: () => undefined }, false)
  return Buffer.concat(pieces).toString('utf8')
}
