import { createServer } from 'node:net'

/** Whether this machine can listen on a port. Another program may have it, which no record shows. */
export function isPortFree(port: number, host: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', () => resolve(false))
  server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  return promise
}
