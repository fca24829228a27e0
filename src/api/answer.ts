import type { HttpCall, RouteHandler } from '#api/http-server.ts'
import { problemBody, problemOf } from '#api/problems.ts'
import { wantsBodyInsteadOf204 } from '#api/quirks.ts'
import { addHeader, line, lines, replyWith, textBody } from '#api/reply.ts'
import { brandFor, wantsHtml } from '#api/request.ts'
import type { ApiRequest } from '#api/api-request.ts'
import type { Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import { type Body, noBody } from '#http/body.ts'
import type { Reply } from '#http/exchange.ts'

/** How long a browser may cache the response to a preflight. */
const PREFLIGHT_MAX_AGE_SECONDS = 600

/** Of the responses that sign browsers in and out: no page may embed, run or read them. */
const dashboardLines = lines({
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
})
const jsonLine = line('content-type', 'application/json')

const isDashboard = ({ url }: ApiRequest): boolean => /^\/dashboard(?:[/?]|$)/.test(url)

/**
 * Headers of every response. Pages of other origins may read it with their own token, but not with the cookie of a
 * session: browsers would need access-control-allow-credentials for that.
 */
function headOf({ request, operationId }: HttpCall): string {
  const { origin, 'ngrok-version': ngrok } = request.headers
  const head = `adit-operation-id: ${operationId}\r\ncache-control: no-store\r\n`
  if (isDashboard(request)) return head + dashboardLines
  const branded = ngrok === undefined ? head : `${head}ngrok-operation-id: ${operationId}\r\n`
  if (origin === undefined) return branded
  return (
    branded +
    line('access-control-allow-origin', origin) +
    'access-control-expose-headers: adit-operation-id, retry-after\r\nvary: origin\r\n'
  )
}

/** A stream of server-sent events. nginx would buffer it without the last header. */
export const streamReply = (httpCall: HttpCall, body: Body): Reply => ({
  ...replyWith(
    httpCall,
    200,
    `${headOf(httpCall)}content-type: text/event-stream\r\nx-accel-buffering: no\r\n`,
    body,
  ),
  isEndless: true,
})

/** Responds to CORS preflights. */
export const preflight: RouteHandler = httpCall => {
  const { request } = httpCall
  if (isDashboard(request)) return replyWith(httpCall, 204, dashboardLines, noBody)
  const { origin = '*', 'access-control-request-headers': wanted } = request.headers
  const head = lines({
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, PATCH, PUT, DELETE',
    'access-control-max-age': String(PREFLIGHT_MAX_AGE_SECONDS),
    ...(wanted !== undefined && { 'access-control-allow-headers': wanted }),
    vary: 'origin',
  })
  return replyWith(httpCall, 204, head, noBody)
}

/** A body that is JSON text already. */
export const jsonReply = (httpCall: HttpCall, status: number, text: string | Buffer): Reply =>
  replyWith(httpCall, status, headOf(httpCall) + jsonLine, textBody(text))

/** A response without a body. */
export function emptyReply(httpCall: HttpCall): Reply {
  const { headers, method } = httpCall.request
  if (wantsBodyInsteadOf204(headers['user-agent'] ?? '', method)) return jsonReply(httpCall, 200, '{}')
  return replyWith(httpCall, 204, headOf(httpCall), noBody)
}

export const redirectReply = (httpCall: HttpCall, location: string): Reply =>
  replyWith(httpCall, 302, headOf(httpCall) + line('location', location), noBody)

/** What the caller may know of an error. Errors of the server are logged. */
function reported(error: unknown, { request, operationId }: HttpCall, log: Log): Problem {
  const problem = problemOf(error)
  if (problem.status >= 500)
    log.error({ operation: operationId, method: request.method, err: error }, problem.message)
  return problem
}

/** The response to a request that failed; unexpected errors without details. */
export function refusal(error: unknown, httpCall: HttpCall, log: Log): Reply {
  const problem = reported(error, httpCall, log)
  if (problem.retryAfter !== undefined) addHeader(httpCall, 'retry-after', String(problem.retryAfter))
  const body = problemBody(problem, brandFor(httpCall.request.headers), httpCall.operationId)
  return jsonReply(httpCall, problem.status, body)
}

interface ErrorPage {
  readonly log: Log
  readonly page: (httpCall: HttpCall, problem: Problem) => Promise<Reply> | Reply
}

/** For routes to which browsers navigate: they would show the JSON of an error as it is. */
export const withErrorPage =
  ({ log, page }: ErrorPage, route: RouteHandler) =>
  async (httpCall: HttpCall): Promise<Reply> => {
    try {
      return await route(httpCall)
    } catch (error) {
      if (!wantsHtml(httpCall.request)) throw error
      return await page(httpCall, reported(error, httpCall, log))
    }
  }
