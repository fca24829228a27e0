import { ApiAdmission, type ApiAdmissionOptions } from '#api/api-admission.ts'
import { preflight, refuse, sendNothing, sendText } from '#api/answer.ts'
import type { Call } from '#api/call.ts'
import { ChangeWatch } from '#api/change-watch.ts'
import { addDashboardPages, sendDashboard } from '#api/dashboard/pages.ts'
import { addDashboard } from '#api/dashboard/routes.ts'
import { FirstPages } from '#api/first-pages.ts'
import { HttpServer, type Answered, type HttpCall, type RouteHandler } from '#api/http-server.ts'
import type { Arguments } from '#api/arguments.ts'
import { operate } from '#api/operate.ts'
import { readFilters } from '#api/paging.ts'
import { addPublicPages, type PublicPages } from '#api/pages.ts'
import { requireAccess } from '#api/records.ts'
import { alwaysShowsTheSame } from '#api/showing.ts'
import { readBody, readParameters } from '#api/request.ts'
import { root, self } from '#api/singletons.ts'
import { usage } from '#api/usage.ts'
import { addStreams } from '#api/streams/index.ts'
import type { ResourceBody } from '#contract/body.ts'
import { operations, type Operation } from '#contract/operations.ts'
import { singletons, type Singleton } from '#contract/singletons.ts'
import type { ServerStatus } from '#contract/status.ts'

export interface ApiOptions extends ApiAdmissionOptions, PublicPages {
  readonly answered?: Answered
  /** The state of the server, as far as the caller may see it. */
  readonly status: (call: Call) => Promise<ServerStatus>
}

/** The management API as an HTTP server. */
export function createApi(options: ApiOptions): HttpServer {
  const server = new HttpServer((error, httpCall) => refuse(error, httpCall, options.log), options.answered)
  addPublicPages(server, options)
  server.on('OPTIONS', '*', preflight)

  const watch = new ChangeWatch(options.store)
  const admission = new ApiAdmission(options, watch)
  const firstPages = watch.keeps(new FirstPages())
  for (const operation of operations) {
    const path = operation.path.replace(/\{(\w+)\}/g, ':$1')
    server.on(operation.method, path, operationRoute(operation, admission, firstPages))
  }
  addStreams(server, { store: options.store, log: options.log, admission })
  addDashboard(server, options, admission)
  addDashboardPages(server, admission)
  addSingletons(server, admission, { root, self, usage, status: options.status })
  return server
}

type SingletonAnswers = Record<
  keyof typeof singletons,
  (call: Call, filters: Readonly<Record<string, string>>) => Promise<ResourceBody | ServerStatus>
>

function addSingletons(server: HttpServer, admission: ApiAdmission, answers: SingletonAnswers): void {
  for (const [name, singleton] of Object.entries<Singleton>(singletons)) {
    const answer = answers[name as keyof typeof singletons]
    server.on('GET', singleton.path, async httpCall => {
      if (name === 'root' && isBrowser(httpCall)) {
        await admission.guard(httpCall)
        return sendDashboard(httpCall)
      }
      const call = await admission.admit(httpCall)
      const { filters } = singleton
      const given = filters ? readFilters(filters, httpCall.request.url ?? '') : {}
      sendText(httpCall, 200, JSON.stringify(await answer(call, given)))
    })
  }
}

/** A person who opens the URL gets a page. */
const isBrowser = ({ request }: HttpCall): boolean => request.headers.accept?.includes('text/html') === true

const isList = ({ does }: Operation): boolean => 'verb' in does && does.verb === 'list'

function operationRoute(operation: Operation, admission: ApiAdmission, firstPages: FirstPages): RouteHandler {
  const carryOut = operate(operation)
  const { kind, status } = operation
  const pages = isList(operation) && alwaysShowsTheSame(kind) ? firstPages : undefined
  return async httpCall => {
    const call = await admission.admit(httpCall)
    requireAccess(kind, call)
    const url = pages && call.base + (httpCall.request.url ?? '')
    const remembered = url === undefined ? undefined : pages?.find(url)
    if (remembered) return sendText(httpCall, 200, remembered)
    const generation = pages?.generation ?? 0
    const given = await readArguments(operation, httpCall)
    const body = await carryOut(given, call)
    if (body === undefined) return sendNothing(httpCall)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    // The result of a filter may depend on the time.
    if (url !== undefined && !given.query.has('before_id') && !given.query.has('filter')) {
      pages?.keep(url, kind.name, Buffer.from(text), generation)
    }
    sendText(httpCall, status, text)
  }
}

/** The body is read only now: the server must not buffer what it will reject. */
async function readArguments(operation: Operation, { request, params }: HttpCall): Promise<Arguments> {
  const { kind } = operation
  return {
    id: params[kind.key] ?? '',
    parent: kind.parent ? (params[kind.parent.param] ?? null) : null,
    query: readParameters(operation, request.url ?? ''),
    body: operation.input ? await readBody(operation, request) : {},
  }
}
