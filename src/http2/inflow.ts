import type { Http2Limits } from '#http2/limits.ts'
import type { Output } from '#http2/output.ts'
import { ConnectionFault, DEFAULT_WINDOW, FLOW_CONTROL_ERROR } from '#http2/protocol.ts'

/**
 * What the peer may send on a connection. It gets credit when data arrives, not when that is read: otherwise a few
 * requests that are not read would stall all others. Only if very much is unread does it have to wait.
 */
export class Inflow {
  readonly #output: Output
  readonly #limits: Http2Limits
  #window = DEFAULT_WINDOW
  #received = 0
  #unread = 0

  constructor(output: Output, limits: Http2Limits) {
    this.#output = output
    this.#limits = limits
    this.#received = limits.connectionWindow - DEFAULT_WINDOW
    this.#credit(0)
  }

  received(bytes: number): void {
    this.#window -= bytes
    this.#received += bytes
    if (this.#window < 0)
      throw new ConnectionFault(FLOW_CONTROL_ERROR, 'the window of the connection is exceeded')
    this.#credit(this.#limits.connectionWindow / 2)
  }

  /** Bytes wait for a reader; negative: they wait no more. */
  unread(bytes: number): void {
    this.#unread += bytes
    if (bytes < 0) this.#credit(this.#limits.connectionWindow / 2)
  }

  /** Only from a certain amount on, so that few frames are needed. */
  #credit(least: number): void {
    if (this.#received <= least || this.#unread > this.#limits.unreadBytes) return
    this.#output.windowUpdate(0, this.#received)
    this.#window += this.#received
    this.#received = 0
  }
}
