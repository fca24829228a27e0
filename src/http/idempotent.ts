import type { Lost } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'

const methods = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** Whether a request may reach a service twice (RFC 9110 §9.2.2). */
export const isIdempotent = ({ method }: RequestHead): boolean => methods.has(method)

/** Whether all of a request is in its head, so that it can be sent again. */
export const isWithoutContent = ({ framing }: RequestHead): boolean =>
  framing.kind === 'none' || (framing.kind === 'length' && framing.length === 0)

/** What reached no service may be sent anywhere; what was sent, once more, and only where it may happen twice. */
export const maySendAgain = (lost: Lost, wasSentAgain: boolean, head: RequestHead): boolean =>
  lost === 'unreached' || (!wasSentAgain && isIdempotent(head) && isWithoutContent(head))
