import { createServer } from 'node:net'

/** Can this machine listen on a port? Another program may have it, which no record tells. */
export function isPortFree(port: number, host: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', () => resolve(false))
  server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  return promise
}
