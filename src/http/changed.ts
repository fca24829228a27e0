import type { Exchange, Reply } from '#http/exchange.ts'
import type { Fields } from '#http/fields.ts'
import type { RequestHead, ResponseHead } from '#http/head.ts'

type Changes = Partial<Pick<RequestHead, 'fields' | 'upstreamHost'>>

/** A copy of an exchange with another head. Member by member, which is faster than a spread. */
export function withHead(exchange: Exchange, { fields, upstreamHost }: Changes): Exchange {
  const { head, client, body, clientAbort, context, sendInformational } = exchange
  const changed = {
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
  }
  const host = upstreamHost ?? head.upstreamHost
  const sent = host === undefined ? changed : { ...changed, upstreamHost: host }
  return { client, head: sent, body, clientAbort, context, sendInformational }
}

/** A copy of an exchange for another path; its query stays. */
export function withPath(exchange: Exchange, path: string): Exchange {
  const { head } = exchange
  return { ...exchange, head: { ...head, path, target: path + head.target.slice(head.path.length) } }
}

/** A copy of a reply with other fields. */
export function withFields(reply: Reply, fields: Fields): Reply {
  const { status, reason, framing, announcedLength } = reply.head
  const changed = { status, reason, framing, fields, written: undefined }
  return withReplyHead(reply, announcedLength === undefined ? changed : { ...changed, announcedLength })
}

/** A copy of a reply with another head. */
export function withReplyHead(reply: Reply, head: ResponseHead): Reply {
  const { body, upgraded, page, refusal, failure } = reply
  const isPlain =
    upgraded === undefined && page === undefined && refusal === undefined && failure === undefined
  if (isPlain) return { head, body }
  return {
    head,
    body,
    ...(upgraded && { upgraded }),
    ...(page && { page }),
    ...(refusal && { refusal }),
    ...(failure && { failure }),
  }
}
