import { clientNetwork } from '#base/client-network.ts'
import { chooseCoding, type Coding } from '#http/compression/accept-encoding.ts'
import { CompressedBody, type CompressionTerms } from '#http/compression/compressed-body.ts'
import type { CompressionBudget } from '#http/compression/compression-budget.ts'
import { methods } from '#http/compression/engines.ts'
import { isWorthwhile } from '#http/compression/media-types.ts'
import type { Exchange, Handler, Reply } from '#http/exchange.ts'
import { type Body, bodyOf, noBody } from '#http/body.ts'
import type { Fields } from '#http/fields.ts'
import { TextBody } from '#http/http1-whole.ts'
import type { HttpModule } from '#gateway/modules/module.ts'
import { endpointOf } from '#http/module-context.ts'
import type { ModulesSection } from '#http/request-context.ts'

/** Shorter bodies hardly shrink, and one packet carries them anyway. */
const MIN_LENGTH = 256
/** A body with a digest must stay unchanged. */
const digests = ['content-digest', 'repr-digest', 'digest', 'content-md5']

/** Compresses responses while they stream, in an encoding that the client accepts. */
const compressing =
  (endpoint: string, budget: CompressionBudget): Handler =>
  async (exchange, next) => {
    const reply = await next(exchange)
    const isHead = exchange.head.method === 'HEAD'
    const length = lengthOf(reply, isHead)
    if (length === 0 || !mayChange(reply)) return reply
    const { coding, identityRefused } = chooseCoding(exchange.head.fields.get('accept-encoding'))
    const isShort = length < MIN_LENGTH && !identityRefused
    const party = { endpoint, client: clientNetwork(exchange.client.ip) }
    // RFC 9110 §12.5.5: an uncompressed response was negotiated too, so caches must key on the header.
    if (coding === undefined || isShort || !budget.allows(party, coding))
      return { ...reply, head: asNegotiated(reply) }
    return compressed(reply, { coding, party, budget }, exchange)
  }

/** The length of the body: 0 for none, Infinity if unknown. */
function lengthOf({ head }: Reply, isHead: boolean): number {
  const { framing, announcedLength } = head
  if (isHead) return announcedLength ?? (framing.kind === 'length' ? framing.length : Infinity)
  if (framing.kind === 'none') return 0
  return framing.kind === 'length' ? framing.length : Infinity
}

/** Whether the body is complete, uncompressed, worth it, and may be transformed. */
function mayChange({ head, upgraded, page }: Reply): boolean {
  const { status, fields } = head
  // A page has no body yet, and is short.
  if (page !== undefined || upgraded !== undefined || status < 200 || status === 204 || status === 205)
    return false
  if (status === 206 || status === 304 || !isWorthwhile(fields.get('content-type') ?? '')) return false
  if (fields.get('content-encoding') !== undefined || fields.get('content-range') !== undefined) return false
  if (digests.some(name => fields.get(name) !== undefined)) return false
  return !fields.all('cache-control').some(value => /\bno-transform\b/i.test(value))
}

const asNegotiated = ({ head }: Reply): Reply['head'] => ({ ...head, fields: varied(head.fields) })

function compressed(reply: Reply, terms: CompressionTerms, { head, context }: Exchange): Reply {
  const { coding } = terms
  const { status, reason, fields } = reply.head
  const isHead = head.method === 'HEAD'
  const body = isHead ? reply.body : contentOf(reply.body, terms, context.modules)
  if (body === undefined) return { ...reply, head: asNegotiated(reply) }
  const framing = isHead ? noBody.framing : body.framing
  if (isHead) context.modules.compressed = { coding, saved: 0 }
  return { ...reply, head: { status, reason, framing, fields: encodedFields(fields, coding) }, body }
}

/** Compresses a short body at once; undefined when that would make it longer. */
function contentOf(body: Body, terms: CompressionTerms, section: ModulesSection): Body | undefined {
  if (!(body instanceof TextBody)) return (section.compressed = new CompressedBody(body, terms))
  const { coding } = terms
  const bytes = methods[coding].whole(Buffer.from(body.text, 'latin1'))
  const saved = body.text.length - bytes.length
  if (saved <= 0) return undefined
  section.compressed = { coding, saved }
  return bodyOf(bytes)
}

/** The fields of another representation: its ranges and bytes are not the service's own. */
function encodedFields(fields: Fields, coding: Coding): Fields {
  const etag = fields.get('etag')
  const weak = etag?.startsWith('"') === true ? fields.without('etag').with('ETag', `W/${etag}`) : fields
  return varied(weak.without('accept-ranges').with('Content-Encoding', coding))
}

function varied(fields: Fields): Fields {
  const named = fields.all('vary')
  if (named.some(value => /(?:^|,)\s*(?:\*|accept-encoding)\s*(?:,|$)/i.test(value))) return fields
  return fields.without('vary').with('Vary', [...named.filter(Boolean), 'Accept-Encoding'].join(', '))
}

export const compressionModule: HttpModule = {
  name: 'compression',
  fromRecord: (_options, moduleContext, { state }) =>
    compressing(endpointOf(moduleContext), state.compression),
  fromAgent: {
    options: ['Compression'],
    build: (_options, moduleContext, { state }) => compressing(endpointOf(moduleContext), state.compression),
  },
}
