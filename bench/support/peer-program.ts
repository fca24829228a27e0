import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the bare server answers to everything. */
export interface PeerAnswer {
  readonly headers: Record<string, string>
  readonly body: string
}

process.on('message', ({ headers, body }: PeerAnswer) => {
  const length = String(Buffer.byteLength(body))
  const server = createServer((_request, response) => {
    response.writeHead(200, { ...headers, 'content-length': length })
    response.end(body)
  })
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
})
