import type { IncomingMessage } from 'node:http'
import type { ApiAdmission } from '#api/api-admission.ts'
import { sendText } from '#api/answer.ts'
import { metricsType } from '#base/metrics-text.ts'
import type { HttpCall, HttpServer } from '#api/http-server.ts'
import { baseUrl, isViaGateway } from '#api/via-gateway.ts'
import { fail } from '#base/errors.ts'
import { openApi } from '#contract/openapi.ts'

/** The pages load and run nothing; their style is inline. */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  'x-content-type-options': 'nosniff',
}

/** Something that is impaired while the server works. */
export interface Degraded {
  readonly code: 'storage_full' | 'storage_read_only' | 'uncaught_error'
  readonly message: string
}

export interface PublicPages {
  /** Resolves to what is impaired; rejects with the reason while the program does not work. */
  readonly ready: () => Promise<readonly Degraded[]>
  /** What is counted, in the text format of Prometheus. */
  readonly metrics: () => Promise<string>
  /** The base URL of every `uri`; derived from each request when absent. */
  readonly publicUrl: string | undefined
}

/** Public pages: health, and the API reference. */
export function addPublicPages(
  server: HttpServer,
  { ready, metrics, publicUrl }: PublicPages,
  admission: ApiAdmission,
): void {
  // At its own address the API is as private as the operator makes it; the names of the gateway are public.
  const requireAdmin = async (httpCall: HttpCall): Promise<void> => {
    if (!isViaGateway(httpCall.request)) return
    const { role } = (await admission.admit(httpCall)).principal
    if (role !== 'admin') fail('not_allowed', { action: 'read the metrics of the server' })
  }
  server.on('GET', '/healthz', httpCall => sendText(httpCall, 200, '{"status":"ok"}'))
  server.on('GET', '/readyz', async httpCall => {
    await requireAdmin(httpCall)
    try {
      const reasons = await ready()
      // 200 in both cases: a load balancer that removed an impaired server would take down what it still serves.
      const body = reasons.length === 0 ? { status: 'ready' } : { status: 'degraded', reasons }
      sendText(httpCall, 200, JSON.stringify(body))
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      sendText(httpCall, 503, JSON.stringify({ status: 'not ready', reason }))
    }
  })
  server.on('GET', '/metrics', async httpCall => {
    await requireAdmin(httpCall)
    const { response } = httpCall
    response.writeHead(200, { 'content-type': metricsType, 'cache-control': 'no-store' }).end(await metrics())
  })
  const baseOf = (request: IncomingMessage): string => baseUrl(request, publicUrl)
  server.on('GET', '/openapi.json', httpCall => {
    sendText(httpCall, 200, JSON.stringify(openApi(baseOf(httpCall.request))))
  })
  const sendPage = async ({ request, response, params }: HttpCall): Promise<void> => {
    // Loaded on demand: most servers never show it, and it takes megabytes.
    const { referencePage } = await import('#reference/page.ts')
    const { searchParams } = new URL(request.url ?? '', 'http://localhost')
    const options = { base: baseOf(request), query: searchParams.get('q') ?? '' }
    const page = referencePage(params['page'] ?? '', options) ?? fail('no_such_path')
    response.writeHead(200, PAGE_HEADERS).end(page)
  }
  server.on('GET', '/docs', sendPage)
  server.on('GET', '/docs/:page', sendPage)
}
