import { EventEmitter } from 'node:events'
import { deserialize, serialize } from 'node:v8'
import type { Pipe } from '#cluster/channel.ts'

/** One end of a connection that another process relays: it does not read the messages, which may be large. */
export class RelayedPipe extends EventEmitter implements Pipe {
  readonly #relay: (body: Uint8Array) => void

  constructor(relay: (body: Uint8Array) => void) {
    super()
    this.#relay = relay
  }

  send(message: unknown): boolean {
    this.#relay(serialize(message))
    return true
  }

  receive(body: Uint8Array): void {
    this.emit('message', deserialize(body))
  }

  close(): void {
    this.emit('disconnect')
  }
}
