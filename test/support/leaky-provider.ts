import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { secretText } from './secrets.ts'

/** An identity provider that accepts every user and then fails, with the request it got in its error. */
export async function startLeakyProvider() {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', `http://${request.headers.host}`)
    const own = `http://${request.headers.host}`
    const back = url.searchParams.get('redirect_uri')
    if (url.pathname.includes('openid-configuration')) {
      const at = {
        authorization_endpoint: `${own}/in`,
        token_endpoint: `${own}/token`,
        jwks_uri: `${own}/keys`,
      }
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ issuer: own, ...at }))
    } else if (back !== null) {
      const code = secretText(`code ${randomUUID()}`)
      const query = new URLSearchParams({ code, state: url.searchParams.get('state') ?? '' })
      response.writeHead(302, { location: `${back}?${query.toString()}` }).end()
    } else {
      const body = (await request.toArray()).join('')
      const login = String(request.headers.authorization).split(' ')[1] ?? ''
      requests.push(body + decodeURIComponent(Buffer.from(login, 'base64').toString()))
      const failure = {
        error: 'invalid_client',
        error_description: `${body} ${request.headers.authorization}`,
      }
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(failure))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const requests: string[] = []
  return { server, requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
