import type { Problem } from '#base/errors.ts'
import type { AgentCommand, TunnelRecord } from '#registry/directory.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'

/** Why no connection could be opened through a tunnel. */
export class DialError extends Error {
  override readonly name = 'DialError'
  /** `offline`: the agent is not connected. `busy`: it has reached its connection limit. */
  readonly code: 'offline' | 'busy'

  constructor(code: DialError['code'], message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** Reaches every online agent, also through other gateway processes. */
export interface AgentDialer {
  /**
   * Opens a connection to a tunnel's upstream and sends `first` on it. Rejects with a DialError. An agent that cannot
   * reach its upstream closes the connection without a byte, or responds as its protocol defines.
   */
  dial(tunnel: TunnelRecord, header: ProxyHeader, first: Buffer): Promise<ByteStream>
  /** Resolves when the agent has accepted the command; rejects with a Problem otherwise. */
  command(sessionId: string, command: AgentCommand): Promise<void>
  /**
   * Whether the agent responds right now; checked when another agent requests an address it holds. True too if its node
   * cannot be asked.
   */
  probe(sessionId: string): Promise<boolean>
  /** Between the agent and its gateway process, in milliseconds; null if it is not measured, or the node does not respond. */
  roundTrip(sessionId: string): Promise<number | null>
}

/** The connection of one agent, of any protocol. */
export interface AgentConnection {
  dial(tunnel: TunnelRecord, header: ProxyHeader, first: Buffer): Promise<ByteStream>
  command(command: AgentCommand): Promise<void>
  probe(): Promise<boolean>
  /** The last measured round trip; undefined before the first, and of protocols that do not measure it. */
  readonly roundTripMs?: number | undefined
  /** Notifies the agent that one of its tunnels was removed, if its protocol supports that. */
  stopTunnel?(tunnelId: string, problem: Problem): void
  /** Closes it; the agent gets the reason if its protocol supports that. */
  close(reason: string): void
}
