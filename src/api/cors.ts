import type { FastifyInstance } from 'fastify'

/** How long a browser may remember an answer to its question. */
const MAX_AGE_SECONDS = 600

/**
 * Lets pages of other origins call the API with a token of their own. Credentials of the browser are never
 * allowed along: nothing here works by cookie, so a foreign page can do no more than its token.
 */
export function addCors(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers
    if (origin === undefined) return
    reply.header('access-control-allow-origin', origin).header('vary', 'origin')
    reply.header('access-control-expose-headers', 'adit-operation-id, retry-after')
  })
  app.options('*', async (request, reply) => {
    const wanted = request.headers['access-control-request-headers']
    reply.header('access-control-allow-methods', 'GET, POST, PATCH, PUT, DELETE')
    if (wanted !== undefined) reply.header('access-control-allow-headers', wanted)
    return reply.header('access-control-max-age', String(MAX_AGE_SECONDS)).code(204).send()
  })
}
