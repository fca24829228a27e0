import type { ApiAdmission } from '#api/api-admission.ts'
import { jsonReply } from '#api/answer.ts'
import type { ApiRequest } from '#api/api-request.ts'
import { metricsType } from '#base/metrics-text.ts'
import type { HttpCall, HttpServer } from '#api/http-server.ts'
import { line, lines, replyWith, textBody } from '#api/reply.ts'
import { baseUrl } from '#api/via-gateway.ts'
import { fail } from '#base/errors.ts'
import { openApi } from '#contract/openapi.ts'
import type { Reply } from '#http/exchange.ts'

/** The pages load and run nothing; their style is inline. */
const PAGE_LINES = lines({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  'x-content-type-options': 'nosniff',
})
const METRICS_LINES = line('content-type', metricsType) + line('cache-control', 'no-store')

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
    if (!httpCall.request.isViaGateway) return
    const { role } = (await admission.admit(httpCall)).principal
    if (role !== 'admin') fail('not_allowed', { action: 'read the metrics of the server' })
  }
  server.on('GET', '/healthz', httpCall => jsonReply(httpCall, 200, '{"status":"ok"}'))
  server.on('GET', '/readyz', async httpCall => {
    await requireAdmin(httpCall)
    try {
      const reasons = await ready()
      // 200 in both cases: a load balancer that removed an impaired server would take down what it still serves.
      const body = reasons.length === 0 ? { status: 'ready' } : { status: 'degraded', reasons }
      return jsonReply(httpCall, 200, JSON.stringify(body))
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      return jsonReply(httpCall, 503, JSON.stringify({ status: 'not ready', reason }))
    }
  })
  server.on('GET', '/metrics', async httpCall => {
    await requireAdmin(httpCall)
    return replyWith(httpCall, 200, METRICS_LINES, textBody(await metrics()))
  })
  const baseOf = (request: ApiRequest): string => baseUrl(request, publicUrl)
  server.on('GET', '/openapi.json', httpCall =>
    jsonReply(httpCall, 200, JSON.stringify(openApi(baseOf(httpCall.request)))),
  )
  const page = async (httpCall: HttpCall): Promise<Reply> => {
    const { request, params } = httpCall
    // Loaded on demand: most servers never show it, and it takes megabytes.
    const { referencePage } = await import('#reference/page.ts')
    const { searchParams } = new URL(request.url, 'http://localhost')
    const options = { base: baseOf(request), query: searchParams.get('q') ?? '' }
    const html = referencePage(params['page'] ?? '', options) ?? fail('no_such_path')
    return replyWith(httpCall, 200, PAGE_LINES, textBody(html))
  }
  server.on('GET', '/docs', page)
  server.on('GET', '/docs/:page', page)
}
