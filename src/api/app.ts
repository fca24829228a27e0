import { maxHeaderSize } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Access } from '#api/access.ts'
import type { Call, Deps } from '#api/call.ts'
import { addCors } from '#api/cors.ts'
import { addPublicPages } from '#api/pages.ts'
import { problemBody, problemOf } from '#api/problems.ts'
import { operate, type Arguments } from '#api/operate.ts'
import { requireAccess } from '#api/records.ts'
import { wantsBodyInsteadOf204 } from '#api/quirks.ts'
import { RateLimit } from '#api/rate-limit.ts'
import { brandFor, checkMessage, checkVersion, MAX_BODY, readBody, readParameters } from '#api/request.ts'
import { answerMalformed } from '#api/malformed.ts'
import { root, self } from '#api/singletons.ts'
import { fail, Problem } from '#base/errors.ts'
import { newId } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import type { Body } from '#contract/body.ts'
import { operations, type Operation } from '#contract/operations.ts'
import { singletons } from '#contract/singletons.ts'

export interface ApiOptions extends Deps {
  readonly log: Log
  /** Calls per minute and key; 0 for no limit. */
  readonly rateLimit: number
  /** The address in every `uri`; derived from each call when absent. */
  readonly publicUrl: string | undefined
  /** Rejects with what is missing while the program cannot do its work. */
  readonly ready: () => Promise<void>
}

const MAX_URL = 8192
const EMPTY = Buffer.alloc(0)

/** The management API as an HTTP application. */
export function createApi(options: ApiOptions): FastifyInstance {
  const app = fastify({
    bodyLimit: MAX_BODY,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // The parser bounds the whole head to this; a lower limit would be refused before we could say how.
    routerOptions: { maxParamLength: maxHeaderSize, querystringParser: () => ({}) },
    clientErrorHandler: answerMalformed,
    frameworkErrors: (error, request, reply) => refuse(error, request, reply, options.log),
    genReqId: () => newId('op'),
    logger: false,
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) => body)
  app.setErrorHandler((error, request, reply) => refuse(error, request, reply, options.log))
  app.setNotFoundHandler((request, reply) =>
    refuse(new Problem('no_such_path', {}), request, reply, options.log),
  )
  addPublicPages(app, options.ready)
  addCors(app)

  const admit = admission(options)
  for (const operation of operations) addOperation(app, operation, admit)
  for (const [name, answer] of Object.entries({ root, self })) {
    const { path } = singletons[name as keyof typeof singletons]
    app.get(path, async (request, reply) => {
      const call = await admit(request)
      return send(request, reply, 200, await answer(call))
    })
  }
  return app
}

/** Lets a call in: who makes it, from where, how often, and in which version. */
function admission(options: ApiOptions): (request: FastifyRequest) => Promise<Call> {
  const access = new Access(options.store, options.log)
  const limit = new RateLimit(options.rateLimit, options.now)
  return async request => {
    const { url, headers } = request.raw
    checkMessage(request.raw)
    if ((url?.length ?? 0) > MAX_URL) fail('path_too_long', { limit: MAX_URL })
    const ip = request.ip.replace(/^::ffff:(?=\d+\.)/, '')
    const principal = await access.admit(headers.authorization, ip)
    limit.count(principal.keyId)
    checkVersion(headers)
    return { ...options, principal, ip, base: options.publicUrl ?? `http://${request.host}` }
  }
}

function addOperation(
  app: FastifyInstance,
  operation: Operation,
  admit: (request: FastifyRequest) => Promise<Call>,
): void {
  const carryOut = operate(operation)
  const { kind, method, path, status } = operation
  app.route({
    method,
    url: path.replace(/\{(\w+)\}/g, ':$1'),
    handler: async (request, reply) => {
      const call = await admit(request)
      requireAccess(kind, call)
      const params = request.params as Record<string, string | undefined>
      const given: Arguments = {
        id: params[kind.key] ?? '',
        parent: kind.parent ? (params[kind.parent.param] ?? null) : null,
        query: readParameters(operation, request.raw.url ?? ''),
        body: readBody(operation, request.raw, Buffer.isBuffer(request.body) ? request.body : EMPTY),
      }
      return send(request, reply, status, await carryOut(given, call))
    },
  })
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  body: Body | undefined,
): FastifyReply {
  const { headers, method } = request.raw
  reply.header('adit-operation-id', request.id)
  if (headers['ngrok-version'] !== undefined) reply.header('ngrok-operation-id', request.id)
  if (body !== undefined) return sendJson(reply, status, JSON.stringify(body))
  const empty = !wantsBodyInsteadOf204(headers['user-agent'] ?? '', method ?? '')
  return empty ? reply.code(204).send() : sendJson(reply, 200, '{}')
}

const sendJson = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  reply.code(status).header('content-type', 'application/json').header('cache-control', 'no-store').send(text)

function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): FastifyReply {
  const problem = problemOf(error, MAX_BODY)
  const { id, raw } = request
  if (problem.status >= 500) log.error({ operation: id, method: raw.method, error }, problem.message)
  if (problem.retryAfter !== undefined) reply.header('retry-after', String(problem.retryAfter))
  reply.header('adit-operation-id', id)
  if (raw.headers['ngrok-version'] !== undefined) reply.header('ngrok-operation-id', id)
  return sendJson(reply, problem.status, problemBody(problem, brandFor(raw.headers), id))
}
