import type { Socket } from 'node:net'

type CountedSocket = Pick<Socket, 'bytesRead' | 'bytesWritten'>

/**
 * All bytes from and to clients on the wire: with TLS, heads and framing. Sockets count themselves, so nothing is done
 * per read or write; open sockets are read on demand.
 */
export class ClientBytes {
  readonly #open = new Set<CountedSocket>()
  #received = 0
  #sent = 0
  #mostSent = 0

  get received(): number {
    let sum = this.#received
    for (const { bytesRead } of this.#open) sum += bytesRead
    return sum
  }

  /** A socket counts unsent bytes, and forgets them when it is aborted; but a counter must never decrease. */
  get sent(): number {
    let sum = this.#sent
    for (const { bytesWritten } of this.#open) sum += bytesWritten
    this.#mostSent = Math.max(this.#mostSent, sum)
    return this.#mostSent
  }

  add(socket: CountedSocket): void {
    this.#open.add(socket)
  }

  /** It is closed. */
  remove(socket: CountedSocket): void {
    if (!this.#open.delete(socket)) return
    this.#received += socket.bytesRead
    this.#sent += socket.bytesWritten
  }
}
