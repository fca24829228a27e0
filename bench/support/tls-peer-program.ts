import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'

/** What the bare server is started with. */
export interface TlsPeerJob {
  readonly cert: string
  readonly key: string
}

process.on('message', (job: TlsPeerJob) => {
  const server = createServer({ ...job, ALPNProtocols: ['http/1.1'], noDelay: true }, socket => {
    socket.on('error', () => undefined).resume()
  })
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  )
})
