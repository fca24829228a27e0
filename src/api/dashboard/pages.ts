import { redirectReply } from '#api/answer.ts'
import type { ApiAdmission, ApiAdmissionOptions } from '#api/api-admission.ts'
import { bundleDashboard } from '#api/dashboard/bundle.ts'
import { CompressedText, encodingFor } from '#api/dashboard/compressed-text.ts'
import { sessionToken } from '#api/dashboard/cookie.ts'
import { orUnavailable } from '#api/dashboard/unavailable-page.ts'
import type { HttpCall, HttpServer, RouteHandler } from '#api/http-server.ts'
import { problemBody } from '#api/problems.ts'
import { addHeader, line, lines, replyWith, textBody } from '#api/reply.ts'
import { brandFor } from '#api/request.ts'
import { baseUrl } from '#api/via-gateway.ts'
import { fail, type Problem } from '#base/errors.ts'
import { dashboardCalls, FAILURE_META } from '#contract/dashboard.ts'
import type { Reply } from '#http/exchange.ts'
import { markup } from '#reference/html.ts'

interface WebFile {
  readonly type: string
  readonly content: CompressedText
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const PAGE = 'index.html'

/** The script needs the session as soon as it runs: a browser that has one requests it together with the script. */
const PRELOAD = `<${dashboardCalls.session.path}>; rel=preload; as=fetch; crossorigin`

/** The name of a file contains a hash of its content, so that it never changes. */
const cacheControl = (name: string): string =>
  name === PAGE ? 'no-cache' : 'public, max-age=31536000, immutable'

const COMMON_LINES = lines({
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept, accept-encoding',
})

const FAILURE_LINES =
  COMMON_LINES + line('content-type', types['html'] ?? '') + line('cache-control', 'no-store')

async function fileReply(httpCall: HttpCall, name: string): Promise<Reply> {
  const file = await fileNamed(name)
  const encoding = encodingFor(httpCall.request.headers['accept-encoding'])
  const body = await file.content.as(encoding)
  const head = lines({
    'content-type': file.type,
    'cache-control': cacheControl(name),
    ...(encoding !== 'identity' && { 'content-encoding': encoding }),
  })
  return replyWith(httpCall, 200, COMMON_LINES + head, textBody(body))
}

function webFile(name: string, text: string): [string, WebFile] {
  const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
  return [name, { type, content: new CompressedText(text) }]
}

let bundled: Promise<ReadonlyMap<string, WebFile>> | undefined

/** The files, made once per process: most servers in tests never show the dashboard. */
async function dashboardFiles(): Promise<ReadonlyMap<string, WebFile>> {
  bundled ??= bundleDashboard().then(
    ({ files }) => new Map([...files].map(([name, text]) => webFile(name, text))),
  )
  try {
    return await bundled
  } catch (cause) {
    bundled = undefined
    throw cause
  }
}

/**
 * The page that loads the dashboard; its script shows what the path names. Where the gateway serves the API, too,
 * the dashboard has a host of its own.
 */
export const dashboardPage =
  ({ dashboardUrl, publicUrl }: PageOptions): RouteHandler =>
  httpCall => {
    const { request } = httpCall
    const isElsewhere = request.isViaGateway && baseUrl(request, publicUrl) !== dashboardUrl
    if (dashboardUrl !== undefined && isElsewhere) return redirectReply(httpCall, dashboardUrl + request.url)
    if (sessionToken(request, publicUrl) !== undefined) addHeader(httpCall, 'link', PRELOAD)
    return fileReply(httpCall, PAGE)
  }

/** The page with a failure that its script shows, in place of JSON. */
export async function failurePage(httpCall: HttpCall, problem: Problem): Promise<Reply> {
  const { request, operationId } = httpCall
  const page = await (await fileNamed(PAGE)).content.as('identity')
  const failure = problemBody(problem, brandFor(request.headers), operationId)
  const meta = markup`<meta name="${FAILURE_META}" content="${failure}">`
  const body = page.toString().replace('</head>', () => `${meta.text}</head>`)
  return replyWith(httpCall, problem.status, FAILURE_LINES, textBody(body))
}

type PageOptions = Pick<ApiAdmissionOptions, 'dashboardUrl' | 'publicUrl'>

const fileNamed = async (name: string): Promise<WebFile> =>
  (await dashboardFiles()).get(name) ?? fail('no_such_path')

/** Serves the dashboard's pages and files, to addresses that may use it. */
export function addDashboardPages(
  server: HttpServer,
  options: PageOptions & Pick<ApiAdmissionOptions, 'log'>,
  admission: ApiAdmission,
): void {
  const dashboard = dashboardPage(options)
  const guarded =
    (route: RouteHandler): RouteHandler =>
    async httpCall => {
      await admission.guard(httpCall)
      return await route(httpCall)
    }
  const shown = orUnavailable(options.log, guarded(dashboard))
  server.on('GET', '/dashboard', shown)
  server.on('GET', '/dashboard/*', shown)
  server.on(
    'GET',
    '/dashboard/assets/:name',
    guarded(httpCall => fileReply(httpCall, httpCall.params['name'] ?? '')),
  )
}
