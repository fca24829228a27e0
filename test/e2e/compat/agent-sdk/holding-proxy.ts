import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { cut } from '#tunnel/splice.ts'
import { listening } from '../../../support/net.ts'

/**
 * Stands between agents and a gateway that is restarted: it keeps connections waiting while there is none. The SDK
 * tries again after 0.05 and 2.5 seconds and then only after two minutes, which a busy machine may need to start.
 */
export async function openHoldingProxy(gatewayPort: number) {
  const pairs = new Set<Socket>()
  const server = createServer({ pauseOnConnect: true }, socket => {
    const end = (): void => void socket.destroy()
    pairs.add(socket.on('error', end).on('close', () => pairs.delete(socket)))
    void join(socket, gatewayPort)
  })
  const { port, [Symbol.asyncDispose]: close } = await listening(server)
  return {
    port,
    /** Every connection is reset without notice. */
    cut: () => {
      for (const socket of pairs) cut(socket)
    },
    [Symbol.asyncDispose]: close,
  }
}

async function join(socket: Socket, port: number): Promise<void> {
  while (!socket.destroyed) {
    const far = connect(port, '127.0.0.1')
    const isOpen = await once(far, 'connect').then(
      () => true,
      () => false,
    )
    if (!isOpen) {
      await new Promise(resolve => setTimeout(resolve, 50))
      continue
    }
    far.on('error', () => far.destroy()).on('close', () => socket.destroy())
    socket.on('close', () => far.destroy())
    socket.pipe(far).pipe(socket)
    return
  }
}
