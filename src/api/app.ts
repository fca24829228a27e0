import { maxHeaderSize } from 'node:http'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { Access } from '#api/access.ts'
import { refuse, sendNothing, sendText } from '#api/answer.ts'
import type { Call, Deps } from '#api/call.ts'
import { ChangeWatch } from '#api/change-watch.ts'
import { FirstPages } from '#api/first-pages.ts'
import { answerMalformed } from '#api/malformed.ts'
import { operate, type Arguments } from '#api/operate.ts'
import { addPublicPages } from '#api/pages.ts'
import { addPreflight } from '#api/preflight.ts'
import { RateLimit } from '#api/rate-limit.ts'
import { alwaysShowsTheSame, requireAccess } from '#api/records.ts'
import { checkMessage, checkVersion, MAX_BODY, readBody, readParameters } from '#api/request.ts'
import { root, self } from '#api/singletons.ts'
import { fail, Problem } from '#base/errors.ts'
import { newId } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { operations, type Operation } from '#contract/operations.ts'
import { singletons } from '#contract/singletons.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the caller is let in. */
    call: Call | null
  }
}

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
/** For the whole of a call to arrive: a caller that dribbles does not hold a connection for ever. */
const REQUEST_TIMEOUT_MS = 60_000
const EMPTY = Buffer.alloc(0)

/** The management API as an HTTP application. */
export function createApi(options: ApiOptions): FastifyInstance {
  const { log } = options
  const app = fastify({
    bodyLimit: MAX_BODY,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: REQUEST_TIMEOUT_MS,
    // The parser bounds the whole head to this; a lower limit would be refused before we could say how.
    routerOptions: { maxParamLength: maxHeaderSize, querystringParser: () => ({}) },
    clientErrorHandler: answerMalformed,
    frameworkErrors: (error, request, reply) => refuse(error, request, reply, log),
    genReqId: () => newId('op'),
    logger: false,
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) => body)
  app.setErrorHandler((error, request, reply) => refuse(error, request, reply, log))
  app.setNotFoundHandler((request, reply) => refuse(new Problem('no_such_path', {}), request, reply, log))
  app.decorateRequest('call', null)
  addPublicPages(app, options.ready)
  addPreflight(app)

  const watch = new ChangeWatch(options.store)
  const admit = admission(options, watch)
  const firstPages = watch.keeps(new FirstPages())
  for (const operation of operations) addOperation(app, operation, admit, firstPages)
  for (const [name, answer] of Object.entries({ root, self })) {
    const { path } = singletons[name as keyof typeof singletons]
    app.get(path, async (request, reply) => {
      if (name === 'root' && isBrowser(request)) return reply.redirect('/docs')
      const call = await admit(request)
      return sendText(request, reply, 200, JSON.stringify(await answer(call)))
    })
  }
  return app
}

type Admit = (request: FastifyRequest) => Promise<Call>

/** Lets a call in: who makes it, from where, how often, and in which version. */
function admission(options: ApiOptions, watch: ChangeWatch): Admit {
  const { store, live, sealer, facts, now, publicUrl, log } = options
  const access = watch.keeps(new Access(store, log))
  const limit = new RateLimit(options.rateLimit, now)
  return async request => {
    const { url = '', headers } = request.raw
    checkMessage(request.raw)
    if (url.length > MAX_URL) fail('path_too_long', { limit: MAX_URL })
    await watch.catchUp()
    const ip = plainAddress(request.ip)
    const principal = await access.admit(headers.authorization, ip)
    limit.count(principal.keyId)
    checkVersion(headers)
    return { store, live, sealer, facts, now, principal, ip, base: publicUrl ?? `http://${request.host}` }
  }
}

/** IPv4 as itself, also where the socket speaks IPv6. */
const plainAddress = (ip: string): string => (ip.startsWith('::ffff:') && ip.includes('.') ? ip.slice(7) : ip)

function addOperation(
  app: FastifyInstance,
  operation: Operation,
  admit: Admit,
  firstPages: FirstPages,
): void {
  const carryOut = operate(operation)
  const { kind, method, path, status } = operation
  const pages = isList(operation) && alwaysShowsTheSame(kind) ? firstPages : undefined
  app.route({
    method,
    url: path.replace(/\{(\w+)\}/g, ':$1'),
    // Before the body is read: nobody may make the server take in what it will refuse.
    onRequest: async request => {
      const call = await admit(request)
      requireAccess(kind, call)
      request.call = call
    },
    handler: async (request, reply) => {
      const call = request.call ?? fail('internal')
      const url = call.base + (request.raw.url ?? '')
      const remembered = pages?.find(url)
      if (remembered) return sendText(request, reply, 200, remembered)
      const generation = pages?.generation ?? 0
      const given = readArguments(operation, request)
      const body = await carryOut(given, call)
      if (body === undefined) return sendNothing(request, reply)
      const text = JSON.stringify(body)
      if (!given.query.has('before_id')) pages?.keep(url, kind.name, Buffer.from(text), generation)
      return sendText(request, reply, status, text)
    },
  })
}

/** A person who opens the address gets something to read. */
const isBrowser = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') === true

const isList = ({ does }: Operation): boolean => 'verb' in does && does.verb === 'list'

function readArguments(operation: Operation, { raw, params, body }: FastifyRequest): Arguments {
  const { kind } = operation
  const named = params as Record<string, string | undefined>
  return {
    id: named[kind.key] ?? '',
    parent: kind.parent ? (named[kind.parent.param] ?? null) : null,
    query: readParameters(operation, raw.url ?? ''),
    body: readBody(operation, raw, Buffer.isBuffer(body) ? body : EMPTY),
  }
}
