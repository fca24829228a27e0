import { sendText } from '#api/answer.ts'
import { metricsType } from '#base/metrics-text.ts'
import type { HttpServer } from '#api/http-server.ts'
import { openApi } from '#contract/openapi.ts'

/** The page loads nothing and runs nothing; its style is in it. */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
}

/** Something that does not work while the server serves. */
export interface Degraded {
  readonly code: 'storage_full' | 'uncaught_error'
  readonly message: string
}

export interface PublicPages {
  /** Resolves to what is impaired; rejects with what is missing while the program cannot do its work. */
  readonly ready: () => Promise<readonly Degraded[]>
  /** What is counted, in the text format of Prometheus. */
  readonly metrics: () => Promise<string>
  /** The address in every `uri`; derived from each call when absent. */
  readonly publicUrl: string | undefined
}

/** What anybody may read: whether the server lives, and how the API is called. */
export function addPublicPages(server: HttpServer, { ready, metrics, publicUrl }: PublicPages): void {
  server.on('GET', '/healthz', exchange => sendText(exchange, 200, '{"status":"ok"}'))
  server.on('GET', '/readyz', async exchange => {
    try {
      const reasons = await ready()
      // 200 in both: a balancer that took an impaired server away would take down what it still serves.
      const body = reasons.length === 0 ? { status: 'ready' } : { status: 'degraded', reasons }
      sendText(exchange, 200, JSON.stringify(body))
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      sendText(exchange, 503, JSON.stringify({ status: 'not ready', reason }))
    }
  })
  server.on('GET', '/metrics', async ({ response }) => {
    response.writeHead(200, { 'content-type': metricsType, 'cache-control': 'no-store' }).end(await metrics())
  })
  server.on('GET', '/openapi.json', exchange => {
    const { host = 'localhost' } = exchange.request.headers
    sendText(exchange, 200, JSON.stringify(openApi(publicUrl ?? `http://${host}`)))
  })
  server.on('GET', '/docs', async ({ response }) => {
    // Loaded when somebody reads it: most servers never show it, and it takes megabytes.
    const { referencePage } = await import('#contract/reference-page.ts')
    response.writeHead(200, PAGE_HEADERS).end(referencePage())
  })
}
