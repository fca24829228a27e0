import type { Socket } from 'node:net'
import type { Connection as SshClient } from 'ssh2'

const PER_MS = 10_000

/** Disconnects a client that re-exchanges keys too often, which costs the gateway far more than the client. */
export function limitRekeys(
  client: SshClient,
  socket: Socket,
  limits: { readonly before: number; readonly after: number },
): void {
  let most = limits.before
  let [count, since] = [0, performance.now()]
  client.once('ready', () => {
    most = limits.after
    count = 0
  })
  client.on('rekey', () => {
    const now = performance.now()
    if (now - since > PER_MS) [count, since] = [0, now]
    if (++count > most) socket.destroy()
  })
}
