import type { Socket } from 'node:net'

type Respond = (query: Buffer) => Buffer | undefined

/** Far more than a query needs; a longer one is an attack. */
const MAX_QUERY = 4096

/**
 * Responds to the queries of one connection in order, pipelined (RFC 7766). A client that does not read its responses
 * is not read from either, and one that sends no complete query in time is closed.
 */
export function serveConnection(socket: Socket, respond: Respond, idleMs: number): void {
  let pending: Buffer = Buffer.alloc(0)
  const timer = setTimeout(() => socket.destroy(), idleMs)

  /** The first complete query; undefined while it is incomplete. */
  const take = (): Buffer | undefined => {
    if (pending.length < 2) return undefined
    const end = 2 + pending.readUInt16BE(0)
    if (end > 2 + MAX_QUERY) {
      socket.destroy()
      return undefined
    }
    if (pending.length < end) return undefined
    const query = pending.subarray(2, end)
    pending = pending.subarray(end)
    return query
  }

  const answer = (): void => {
    while (!socket.destroyed && !socket.writableNeedDrain) {
      const query = take()
      if (query === undefined) return void socket.resume()
      const reply = respond(query)
      if (reply === undefined) return void socket.destroy()
      timer.refresh()
      const length = Buffer.alloc(2)
      length.writeUInt16BE(reply.length)
      // In one write: some clients read the length and the message with one call each.
      socket.write(Buffer.concat([length, reply]))
    }
    socket.pause()
  }

  socket.on('data', (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    answer()
  })
  socket.on('drain', answer)
  socket.on('error', () => undefined)
  socket.on('close', () => clearTimeout(timer))
}
