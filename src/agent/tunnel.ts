import type { AgentError } from '#agent/agent-error.ts'
import type { Binding } from '#agent/binding.ts'
import { replay } from '#agent/capture/replay.ts'

/** An endpoint that is online for as long as its agent is, until it is closed. */
export class Tunnel {
  readonly #binding: Binding
  readonly #close: () => Promise<void>

  constructor(binding: Binding, close: () => Promise<void>) {
    this.#binding = binding
    this.#close = close
  }

  get id(): string {
    return this.#binding.id
  }

  /** Where visitors reach it; empty for a labelled tunnel. */
  get url(): string {
    return this.#binding.url
  }

  /** How it is called on this machine; empty where nothing was said. */
  get name(): string {
    return this.#binding.endpoint.name
  }

  /** Empty for a labelled tunnel. */
  get proto(): string {
    return this.#binding.endpoint.proto
  }

  get forwardsTo(): string {
    return this.#binding.endpoint.forwardsTo
  }

  get metadata(): string {
    return this.#binding.endpoint.metadata
  }

  get labels(): Readonly<Record<string, string>> | undefined {
    return this.#binding.endpoint.labels
  }

  /** Resolves when the tunnel is gone: without an error when it was closed here. */
  get closed(): Promise<AgentError | undefined> {
    return this.#binding.closed
  }

  /**
   * Sends an HTTP/1 request straight to the upstream and records it as a replay of `replayOf`. Resolves to the id of the
   * new exchange when the response is complete, or when it takes longer than a client may wait.
   */
  replay(request: Buffer, replayOf: string): Promise<string> {
    return replay(this.#binding.endpoint, request, replayOf)
  }

  close(): Promise<void> {
    return this.#close()
  }
}
