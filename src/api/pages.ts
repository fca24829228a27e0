import type { FastifyInstance } from 'fastify'
import { openApi } from '#contract/openapi.ts'
import { referencePage } from '#contract/reference-page.ts'

/** The page loads nothing and runs nothing; its style is in it. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

/** What anybody may read: whether the server lives, and how the API is called. */
export function addPublicPages(app: FastifyInstance, ready: () => Promise<void>): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    try {
      await ready()
      return { status: 'ready' }
    } catch (error) {
      return reply
        .code(503)
        .send({ status: 'not ready', reason: error instanceof Error ? error.message : 'unknown' })
    }
  })
  app.get('/openapi.json', (request, reply) => reply.send(openApi(`http://${request.host}`)))
  app.get('/docs', async (_request, reply) =>
    reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', PAGE_POLICY)
      .send(referencePage()),
  )
}
