import type { SettingChanges } from '#base/changed-settings.ts'
import { fail } from '#base/errors.ts'
import { inTime } from '#base/in-time.ts'
import { ApiAdmission, type ApiAdmissionOptions } from '#api/api-admission.ts'
import { emptyReply, jsonReply, preflight, refusal } from '#api/answer.ts'
import type { Call } from '#api/call.ts'
import { ChangeWatch } from '#api/change-watch.ts'
import { addDashboardPages, dashboardPage } from '#api/dashboard/pages.ts'
import { addDashboard } from '#api/dashboard/routes.ts'
import { orUnavailable } from '#api/dashboard/unavailable-page.ts'
import { HttpServer, type Answered, type HttpCall, type RouteHandler } from '#api/http-server.ts'
import type { Arguments } from '#api/arguments.ts'
import { operate } from '#api/operate.ts'
import { readFilters } from '#api/paging.ts'
import { addPublicPages, type PublicPages } from '#api/pages.ts'
import { requireAccess } from '#api/records.ts'
import { alwaysShowsTheSame } from '#api/showing.ts'
import { readBody, readParameters, wantsHtml } from '#api/request.ts'
import { ResponseCache } from '#api/response-cache.ts'
import { root, self } from '#api/singletons.ts'
import { usage } from '#api/usage.ts'
import { addStreams } from '#api/streams/index.ts'
import type { ResourceBody } from '#contract/body.ts'
import { operations, type Operation } from '#contract/operations.ts'
import type { EffectiveSettings } from '#contract/effective-settings.ts'
import type { Licences } from '#contract/licences.ts'
import { singletons, type Singleton } from '#contract/singletons.ts'
import type { Reply } from '#http/exchange.ts'
import type { ServerStatus } from '#contract/status.ts'

interface ApiOptions extends ApiAdmissionOptions, PublicPages {
  readonly answered?: Answered
  /** Resolves when the gateway has applied what was committed. Undefined: it has before it reads another request. */
  readonly applied: () => Promise<void> | undefined
  /** The state of the server, as far as the caller may see it. */
  readonly status: (call: Call) => Promise<ServerStatus>
  /** Reads the settings again; rejects with what is wrong with them. */
  readonly reload: () => Promise<SettingChanges>
  /** Of the packages that the program contains. */
  readonly licences: () => Promise<Licences>
  /** The settings in use, without secrets. */
  readonly settings: () => EffectiveSettings
}

/** The management API as an HTTP server. */
export function createApi(options: ApiOptions): HttpServer {
  const server = new HttpServer((error, httpCall) => refusal(error, httpCall, options.log), options.answered)
  server.on('OPTIONS', '*', preflight)

  const watch = new ChangeWatch(options.store)
  const admission = new ApiAdmission(options, watch)
  addPublicPages(server, options, admission)
  const cache = watch.keeps(new ResponseCache())
  for (const operation of operations) {
    const path = operation.path.replace(/\{(\w+)\}/g, ':$1')
    server.on(
      operation.method,
      path,
      operationRoute(operation, admission, { cache, applied: options.applied }),
    )
  }
  const { store, live, log } = options
  addStreams(server, { store, live, log, admission })
  addDashboard(server, options, admission)
  addDashboardPages(server, options, admission)
  addSingletons(server, options, admission, {
    root,
    self,
    usage,
    status: options.status,
    settings: async () => options.settings(),
    licences: () => options.licences(),
    reload: () => options.reload(),
  })
  return server
}

type SingletonAnswers = Record<
  keyof typeof singletons,
  (
    call: Call,
    filters: Readonly<Record<string, string>>,
  ) => Promise<ResourceBody | ServerStatus | SettingChanges | EffectiveSettings | Licences>
>

function addSingletons(
  server: HttpServer,
  options: ApiOptions,
  admission: ApiAdmission,
  answers: SingletonAnswers,
): void {
  const dashboard = dashboardPage(options)
  const page = orUnavailable(options.log, async httpCall => {
    await admission.guard(httpCall)
    return await dashboard(httpCall)
  })
  for (const [name, singleton] of Object.entries<Singleton>(singletons)) {
    const answer = answers[name as keyof typeof singletons]
    const { method = 'GET' } = singleton
    server.on(method, singleton.path, async httpCall => {
      if (name === 'root' && wantsHtml(httpCall.request)) return page(httpCall)
      const call = await admission.admit(httpCall)
      if (method === 'POST' && call.principal.role !== 'admin') fail('reload_admin')
      const { filters, adminOnly } = singleton
      if (adminOnly && call.principal.role !== 'admin') fail('not_allowed', { action: 'read the settings' })
      const given = filters ? readFilters(filters, httpCall.request.url) : {}
      return jsonReply(httpCall, 200, JSON.stringify(await answer(call, given)))
    })
  }
}

/** Longer bodies are sent as bytes. */
const MAX_STRING = 4096

/** Whether every caller who may read it gets the same response, until a resource of the kind changes. */
const isCacheable = ({ does, kind }: Operation): boolean =>
  'verb' in does && (does.verb === 'list' || does.verb === 'get') && alwaysShowsTheSame(kind)

/** A slow database must not stop the API: after this time the change takes effect later than the response. */
const APPLY_MS = 5000

interface OperationParts extends Pick<ApiOptions, 'applied'> {
  readonly cache: ResponseCache
}

function operationRoute(
  operation: Operation,
  admission: ApiAdmission,
  { cache: responses, applied }: OperationParts,
): RouteHandler {
  const carryOut = operate(operation)
  const { kind, status } = operation
  const cache = isCacheable(operation) ? responses : undefined
  const respond = (httpCall: HttpCall, call: Call): Promise<Reply> | Reply => {
    requireAccess(kind, call)
    const url = call.base + httpCall.request.url
    const cached = cache?.find(url)
    return cached ? jsonReply(httpCall, status, cached) : execute(httpCall, call, url)
  }
  const execute = async (httpCall: HttpCall, call: Call, url: string): Promise<Reply> => {
    const generation = cache?.generation(kind.name) ?? 0
    const given = await readArguments(operation, httpCall)
    const result = await carryOut(given, call)
    const applying = operation.method === 'GET' ? undefined : applied()
    if (applying) await inTime(applying, APPLY_MS)
    if (result === undefined) return emptyReply(httpCall)
    const text = typeof result === 'string' ? result : JSON.stringify(result)
    // A short string is sent together with the head, and a long one faster as bytes.
    const body = text.length < MAX_STRING ? text : Buffer.from(text)
    // The result of a filter may depend on the time.
    if (!given.query.has('filter')) cache?.keep(url, { kind: kind.name, body, generation })
    return jsonReply(httpCall, status, body)
  }
  return httpCall => {
    const call = admission.admit(httpCall)
    // A cached response to a known caller needs no promise: these would be a tenth of its cost.
    return call instanceof Promise
      ? call.then(admitted => respond(httpCall, admitted))
      : respond(httpCall, call)
  }
}

/** The body is read only now: the server must not buffer what it will reject. */
async function readArguments(operation: Operation, { request, params }: HttpCall): Promise<Arguments> {
  const { kind } = operation
  return {
    id: params[kind.key] ?? '',
    parent: kind.parent ? (params[kind.parent.param] ?? null) : null,
    query: readParameters(operation, request.url),
    body: operation.input ? await readBody(operation, request) : {},
  }
}
