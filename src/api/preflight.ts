import type { RouteHandler } from '#api/http-server.ts'

/** How long a browser may cache the response. */
const MAX_AGE_SECONDS = 600

/** Responds to CORS preflights; answer.ts explains why other origins are allowed. */
export const preflight: RouteHandler = ({ request, response }) => {
  const { origin = '*', 'access-control-request-headers': wanted } = request.headers
  response.writeHead(204, {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, PATCH, PUT, DELETE',
    'access-control-max-age': String(MAX_AGE_SECONDS),
    ...(wanted !== undefined && { 'access-control-allow-headers': wanted }),
    vary: 'origin',
  })
  response.end()
}
