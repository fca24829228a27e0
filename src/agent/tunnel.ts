import type { AgentError } from '#agent/agent-error.ts'

/** An endpoint that is online as long as its agent is, until it is closed. */
export interface Tunnel {
  readonly id: string
  /** Its public URL; empty for a labelled tunnel. */
  readonly url: string
  /** Its name on this machine; empty if not set. */
  readonly name: string
  /** Empty for a labelled tunnel. */
  readonly proto: string
  readonly forwardsTo: string
  readonly metadata: string
  readonly labels: Readonly<Record<string, string>> | undefined
  /** Resolves when the tunnel is closed: without an error when it was closed here. */
  readonly closed: Promise<AgentError | undefined>
  /**
   * Sends an HTTP/1 request straight to the upstream and records it as a replay of `replayOf`. Resolves to the id of
   * the new exchange when the response is complete, or when it takes longer than a client may wait.
   */
  replay(request: Buffer, replayOf: string): Promise<string>
  close(): Promise<void>
}
