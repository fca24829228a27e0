import type { FastifyInstance } from 'fastify'

/** How long a browser may remember an answer to its question. */
const MAX_AGE_SECONDS = 600

/** Answers browsers that ask whether a page of another origin may call; answer.ts says why it may. */
export function addPreflight(app: FastifyInstance): void {
  app.options('*', async (request, reply) => {
    const { origin = '*', 'access-control-request-headers': wanted } = request.headers
    reply.header('access-control-allow-origin', origin).header('vary', 'origin')
    reply.header('access-control-allow-methods', 'GET, POST, PATCH, PUT, DELETE')
    if (wanted !== undefined) reply.header('access-control-allow-headers', wanted)
    return reply.header('access-control-max-age', String(MAX_AGE_SECONDS)).code(204).send()
  })
}
