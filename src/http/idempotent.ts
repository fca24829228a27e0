import type { UpstreamFailure } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'

const methods = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** Whether a request may reach a service twice (RFC 9110 §9.2.2). */
export const isIdempotent = ({ method }: RequestHead): boolean => methods.has(method)

/** Whether a request has no body, so that it can be sent again. */
export const isWithoutContent = ({ framing }: RequestHead): boolean =>
  framing.kind === 'none' || (framing.kind === 'length' && framing.length === 0)

/** A request that reached no service may be sent anywhere; one that was sent is retried once, if it is idempotent. */
export const maySendAgain = (failure: UpstreamFailure, wasSentAgain: boolean, head: RequestHead): boolean =>
  failure === 'not-sent' || (!wasSentAgain && isIdempotent(head) && isWithoutContent(head))
