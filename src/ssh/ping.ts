import type { Socket } from 'node:net'
import type { Connection as SshClient } from 'ssh2'

/** Whether a client responds: any data after a request that every client must respond to. */
export function answersPing(client: SshClient, socket: Socket, timeoutMs: number): Promise<boolean> {
  return new Promise(resolve => {
    const finish = (alive: boolean): void => {
      clearTimeout(timer)
      socket.off('data', onData).off('close', onClose)
      resolve(alive)
    }
    const onData = (): void => finish(true)
    const onClose = (): void => finish(false)
    const timer = setTimeout(finish, timeoutMs, false)
    socket.on('data', onData).on('close', onClose)
    sendKeepalive(client)
  })
}

/** ssh2 sends keepalive@openssh.com itself, but has no public method for it. */
function sendKeepalive(client: SshClient): void {
  const { _protocol } = client as unknown as { readonly _protocol: { ping(): void } }
  _protocol.ping()
}
