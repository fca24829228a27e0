import { createServer, type Server } from 'node:http'

const LARGE = Buffer.alloc(10 * 1024 * 1024, 'adit')
const FIELDS = 60

/** What the HTTP/2 clients request, over HTTP/1.1. */
export function clientsService(): Server {
  return createServer((request, response) => {
    switch (request.url) {
      case '/echo':
        request.pipe(response)
        return
      case '/large':
        response.setHeader('content-length', LARGE.length)
        response.end(LARGE)
        return
      case '/fields': {
        const seen = Object.keys(request.headers).filter(name => name.startsWith('x-field-'))
        response.setHeader('x-seen', seen.length)
        for (let at = 0; at < FIELDS; at++) response.setHeader(`x-back-${at}`, 'v'.repeat(100))
        response.end()
        return
      }
      case '/trailers':
        response.setHeader('trailer', 'x-end')
        response.write('content')
        response.addTrailers({ 'x-end': 'well' })
        response.end()
        return
      default:
        response.end('hello')
    }
  })
}
