import type { Socket } from 'node:net'

type Counted = Pick<Socket, 'bytesRead' | 'bytesWritten'>

/**
 * All that visitors sent and were sent, as it travels: with TLS, heads and framing. Sockets count by themselves, so that
 * nothing is done for each read or write; those that are open are asked when somebody wants to know.
 */
export class VisitorBytes {
  readonly #open = new Set<Counted>()
  #received = 0
  #sent = 0
  #mostSent = 0

  get received(): number {
    let sum = this.#received
    for (const { bytesRead } of this.#open) sum += bytesRead
    return sum
  }

  /** A socket counts what waits to be sent, and forgets it when it is cut; but a counter must never go back. */
  get sent(): number {
    let sum = this.#sent
    for (const { bytesWritten } of this.#open) sum += bytesWritten
    this.#mostSent = Math.max(this.#mostSent, sum)
    return this.#mostSent
  }

  add(socket: Counted): void {
    this.#open.add(socket)
  }

  /** It is closed. */
  remove(socket: Counted): void {
    if (!this.#open.delete(socket)) return
    this.#received += socket.bytesRead
    this.#sent += socket.bytesWritten
  }
}
