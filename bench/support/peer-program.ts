import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The response of the bare server to everything. */
export interface PeerAnswer {
  readonly headers: Record<string, string>
  readonly body: string
}

process.on('message', ({ headers, body }: PeerAnswer) => {
  const bytes = Buffer.from(body)
  const length = String(bytes.length)
  // Node sends a short string together with the head, and a long one faster as bytes: the peer should be fast.
  const answer = bytes.length < 4096 ? body : bytes
  const server = createServer((_request, response) => {
    response.writeHead(200, { ...headers, 'content-length': length })
    response.end(answer)
  })
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
})
