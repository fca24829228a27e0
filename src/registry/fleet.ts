import type { Problem } from '#base/errors.ts'
import type { Command, TunnelRecord } from '#registry/directory.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'

/** Why no connection could be opened through a tunnel. */
export class DialError extends Error {
  override readonly name = 'DialError'
  /** `offline`: the agent is not connected (any more). `busy`: it has as many connections as it can take. */
  readonly code: 'offline' | 'busy'

  constructor(code: DialError['code'], message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** Reaches every agent that is online, whichever gateway process holds its connection. */
export interface Fleet {
  /**
   * Opens a connection to what a tunnel forwards to; `first` leaves with it. Rejects with a DialError. An agent that
   * cannot reach its upstream finishes the connection without a byte, or answers as its protocol says.
   */
  dial(tunnel: TunnelRecord, header: ProxyHeader, first: Buffer): Promise<ByteStream>
  /** Resolves when the agent has accepted the command; rejects with a Problem otherwise. */
  command(sessionId: string, command: Command): Promise<void>
  /** Whether the agent answers right now; asked when another agent wants an address it holds. */
  probe(sessionId: string): Promise<boolean>
}

/** The connection of one agent, whatever it speaks. */
export interface Connection {
  dial(tunnel: TunnelRecord, header: ProxyHeader, first: Buffer): Promise<ByteStream>
  command(command: Command): Promise<void>
  probe(): Promise<boolean>
  /** Tells the agent that one of its tunnels was taken away, where its protocol can. */
  stopTunnel?(tunnelId: string, problem: Problem): void
  /** Ends it; the reason is told to the agent where its protocol can. */
  close(reason: string): void
}
