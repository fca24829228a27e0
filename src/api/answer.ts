import type { FastifyReply, FastifyRequest } from 'fastify'
import { problemBody, problemOf } from '#api/problems.ts'
import { wantsBodyInsteadOf204 } from '#api/quirks.ts'
import { brandFor, MAX_BODY } from '#api/request.ts'
import type { Log } from '#base/log.ts'

/**
 * What every answer carries. Pages of other origins may read it: they call with a token of their own, and as
 * nothing here works by cookie, no credential of the browser comes along.
 */
function addHead({ id, raw }: FastifyRequest, reply: FastifyReply): void {
  const { origin, 'ngrok-version': ngrok } = raw.headers
  reply.header('adit-operation-id', id)
  if (ngrok !== undefined) reply.header('ngrok-operation-id', id)
  if (origin === undefined) return
  reply.header('access-control-allow-origin', origin)
  reply.header('access-control-expose-headers', 'adit-operation-id, retry-after')
  reply.header('vary', 'origin')
}

/** Sends a body that is JSON text already. */
export function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  text: string | Buffer,
): FastifyReply {
  addHead(request, reply)
  return reply
    .code(status)
    .header('content-type', 'application/json')
    .header('cache-control', 'no-store')
    .send(text)
}

/** Sends the answer to a call that has nothing to say. */
export function sendNothing(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { headers, method = '' } = request.raw
  if (wantsBodyInsteadOf204(headers['user-agent'] ?? '', method)) return sendText(request, reply, 200, '{}')
  addHead(request, reply)
  return reply.code(204).send()
}

/** Tells the caller why not. What nobody foresaw is logged, and told without its insides. */
export function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): FastifyReply {
  const problem = problemOf(error, MAX_BODY)
  const { id, raw } = request
  if (problem.status >= 500) log.error({ operation: id, method: raw.method, err: error }, problem.message)
  if (problem.retryAfter !== undefined) reply.header('retry-after', String(problem.retryAfter))
  return sendText(request, reply, problem.status, problemBody(problem, brandFor(raw.headers), id))
}
