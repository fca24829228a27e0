import { sendRedirect } from '#api/answer.ts'
import type { ApiAdmission, ApiAdmissionOptions } from '#api/api-admission.ts'
import { bundleDashboard } from '#api/dashboard/bundle.ts'
import { CompressedText, encodingFor } from '#api/dashboard/compressed-text.ts'
import { sessionToken } from '#api/dashboard/cookie.ts'
import { orUnavailable } from '#api/dashboard/unavailable-page.ts'
import type { HttpCall, HttpServer, RouteHandler } from '#api/http-server.ts'
import { problemBody } from '#api/problems.ts'
import { brandFor } from '#api/request.ts'
import { baseUrl, isViaGateway } from '#api/via-gateway.ts'
import { fail, type Problem } from '#base/errors.ts'
import { dashboardCalls, FAILURE_META } from '#contract/dashboard.ts'
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

const HEAD = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept, accept-encoding',
}

async function send({ request, response }: HttpCall, name: string, file: WebFile): Promise<void> {
  const encoding = encodingFor(request.headers['accept-encoding'])
  const body = await file.content.as(encoding)
  response.writeHead(200, {
    ...HEAD,
    'content-type': file.type,
    'content-length': body.length,
    'cache-control': cacheControl(name),
    ...(encoding !== 'identity' && { 'content-encoding': encoding }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
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
 * Sends the page that loads the dashboard; its script shows what the path names. Where the gateway serves the API, too,
 * the dashboard has a host of its own.
 */
export const dashboardPage =
  ({ dashboardUrl, publicUrl }: PageOptions): RouteHandler =>
  httpCall => {
    const { request, response } = httpCall
    if (
      dashboardUrl === undefined ||
      !isViaGateway(request) ||
      baseUrl(request, publicUrl) === dashboardUrl
    ) {
      if (sessionToken(request, publicUrl) !== undefined) response.setHeader('link', PRELOAD)
      return sendFile(httpCall, PAGE)
    }
    response.setHeader('location', dashboardUrl + (request.url ?? '/'))
    sendRedirect(httpCall)
  }

/** Sends the page with a failure that its script shows, in place of JSON. */
export async function sendFailurePage(
  { request, response, operationId }: HttpCall,
  problem: Problem,
): Promise<void> {
  const page = await (await fileNamed(PAGE)).content.as('identity')
  const failure = problemBody(problem, brandFor(request.headers), operationId)
  const meta = markup`<meta name="${FAILURE_META}" content="${failure}">`
  const body = page.toString().replace('</head>', () => `${meta.text}</head>`)
  response.writeHead(problem.status, {
    ...HEAD,
    'content-type': types['html'],
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  })
  response.end(body)
}

type PageOptions = Pick<ApiAdmissionOptions, 'dashboardUrl' | 'publicUrl'>

async function sendFile(httpCall: HttpCall, name: string): Promise<void> {
  await send(httpCall, name, await fileNamed(name))
}

const fileNamed = async (name: string): Promise<WebFile> =>
  (await dashboardFiles()).get(name) ?? fail('no_such_path')

/** Serves the dashboard's pages and files, to addresses that may use it. */
export function addDashboardPages(
  server: HttpServer,
  options: PageOptions & Pick<ApiAdmissionOptions, 'log'>,
  admission: ApiAdmission,
): void {
  const sendDashboard = dashboardPage(options)
  const guarded =
    (route: RouteHandler): RouteHandler =>
    async httpCall => {
      await admission.guard(httpCall)
      await route(httpCall)
    }
  const shown = orUnavailable(options.log, guarded(sendDashboard))
  server.on('GET', '/dashboard', shown)
  server.on('GET', '/dashboard/*', shown)
  server.on(
    'GET',
    '/dashboard/assets/:name',
    guarded(httpCall => sendFile(httpCall, httpCall.params['name'] ?? '')),
  )
}
