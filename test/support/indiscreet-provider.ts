import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { secretText } from './secrets.ts'

/** An identity provider that lets everybody in and then fails, telling the world what it was sent. */
export async function indiscreetProvider() {
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
      asked.push(body + decodeURIComponent(Buffer.from(login, 'base64').toString()))
      const told = { error: 'invalid_client', error_description: `${body} ${request.headers.authorization}` }
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(told))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const asked: string[] = []
  return { server, asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
