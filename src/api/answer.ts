import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { HttpCall, RouteHandler } from '#api/http-server.ts'
import { problemBody, problemOf } from '#api/problems.ts'
import { wantsBodyInsteadOf204 } from '#api/quirks.ts'
import { brandFor, wantsHtml } from '#api/request.ts'
import type { Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'

/** How long a browser may cache the response to a preflight. */
const PREFLIGHT_MAX_AGE_SECONDS = 600

/** Of the responses that sign browsers in and out: no page may embed, run or read them. */
const dashboardHead: OutgoingHttpHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const isDashboard = ({ url = '' }: IncomingMessage): boolean => /^\/dashboard(?:[/?]|$)/.test(url)

/**
 * Headers of every response. Pages of other origins may read it with their own token, but not with the cookie of a
 * session: browsers would need access-control-allow-credentials for that.
 */
function headOf({ request, operationId }: HttpCall): OutgoingHttpHeaders {
  const { origin, 'ngrok-version': ngrok } = request.headers
  const head: OutgoingHttpHeaders = { 'adit-operation-id': operationId, 'cache-control': 'no-store' }
  if (isDashboard(request)) return { ...head, ...dashboardHead }
  if (ngrok !== undefined) head['ngrok-operation-id'] = operationId
  if (origin !== undefined) {
    head['access-control-allow-origin'] = origin
    head['access-control-expose-headers'] = 'adit-operation-id, retry-after'
    head.vary = 'origin'
  }
  return head
}

/** Headers of a stream of server-sent events. */
export const streamHead = (httpCall: HttpCall): OutgoingHttpHeaders => ({
  ...headOf(httpCall),
  'content-type': 'text/event-stream',
  // nginx would buffer it.
  'x-accel-buffering': 'no',
})

/** Responds to CORS preflights. */
export const preflight: RouteHandler = ({ request, response }) => {
  if (isDashboard(request)) {
    response.writeHead(204, dashboardHead).end()
    return
  }
  const { origin = '*', 'access-control-request-headers': wanted } = request.headers
  response.writeHead(204, {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, PATCH, PUT, DELETE',
    'access-control-max-age': String(PREFLIGHT_MAX_AGE_SECONDS),
    ...(wanted !== undefined && { 'access-control-allow-headers': wanted }),
    vary: 'origin',
  })
  response.end()
}

/** Sends a body that is JSON text already. */
export function sendText(httpCall: HttpCall, status: number, text: string | Buffer): void {
  const head = headOf(httpCall)
  head['content-type'] = 'application/json'
  head['content-length'] = Buffer.byteLength(text)
  httpCall.response.writeHead(status, head).end(text)
}

/** Sends a response without a body. */
export function sendNothing(httpCall: HttpCall): void {
  const { headers, method = '' } = httpCall.request
  if (wantsBodyInsteadOf204(headers['user-agent'] ?? '', method)) sendText(httpCall, 200, '{}')
  else httpCall.response.writeHead(204, headOf(httpCall)).end()
}

/** Sends a redirect to the location that is set already. */
export function sendRedirect(httpCall: HttpCall): void {
  httpCall.response.writeHead(302, headOf(httpCall)).end()
}

/** What the caller may know of an error. Errors of the server are logged. */
function reported(error: unknown, { request, operationId }: HttpCall, log: Log): Problem {
  const problem = problemOf(error)
  if (problem.status >= 500)
    log.error({ operation: operationId, method: request.method, err: error }, problem.message)
  return problem
}

/** Sends an error; unexpected ones without details. */
export function refuse(error: unknown, httpCall: HttpCall, log: Log): void {
  const problem = reported(error, httpCall, log)
  const { request, response, operationId } = httpCall
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  if (problem.retryAfter !== undefined) response.setHeader('retry-after', String(problem.retryAfter))
  // The rest of a rejected body is not worth reading.
  if (!request.complete) response.setHeader('connection', 'close')
  sendText(httpCall, problem.status, problemBody(problem, brandFor(request.headers), operationId))
}

interface ErrorPage {
  readonly log: Log
  readonly send: (httpCall: HttpCall, problem: Problem) => Promise<void> | void
}

/** For routes to which browsers navigate: they would show the JSON of an error as it is. */
export const withErrorPage =
  ({ log, send }: ErrorPage, route: RouteHandler) =>
  async (httpCall: HttpCall): Promise<void> => {
    try {
      await route(httpCall)
    } catch (error) {
      if (!wantsHtml(httpCall.request)) throw error
      await send(httpCall, reported(error, httpCall, log))
    }
  }
