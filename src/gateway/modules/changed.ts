import type { Exchange, Reply } from '#gateway/exchange.ts'
import type { Fields } from '#gateway/http/fields.ts'
import type { RequestHead } from '#gateway/http/head.ts'

type Changes = Partial<Pick<RequestHead, 'fields' | 'upstreamHost'>>

/** A copy of an exchange with another head. Named members, because an exchange need not be a plain object. */
export function withHead(exchange: Exchange, { fields, upstreamHost }: Changes): Exchange {
  const { head, visitor, body, departure, trace } = exchange
  const host = upstreamHost ?? head.upstreamHost
  return {
    visitor,
    body,
    departure,
    trace,
    inform: interim => exchange.inform(interim),
    head: {
      method: head.method,
      target: head.target,
      path: head.path,
      host: head.host,
      authority: head.authority,
      version: head.version,
      keepAlive: head.keepAlive,
      upgrade: head.upgrade,
      expectsContinue: head.expectsContinue,
      framing: head.framing,
      fields: fields ?? head.fields,
      ...(host !== undefined && { upstreamHost: host }),
    },
  }
}

/** A copy of a reply with other fields. */
export function withFields(reply: Reply, fields: Fields): Reply {
  const { status, reason, framing, announcedLength } = reply.head
  return {
    head: { status, reason, framing, fields, ...(announcedLength !== undefined && { announcedLength }) },
    body: reply.body,
    ...(reply.upgraded && { upgraded: reply.upgraded }),
    ...(reply.refusal && { refusal: reply.refusal }),
    ...(reply.lost && { lost: reply.lost }),
  }
}
