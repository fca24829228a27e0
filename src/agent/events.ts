import type { AgentError } from '#agent/agent-error.ts'
import type { Tunnel } from '#agent/tunnel.ts'

export interface AgentStatus {
  readonly state: 'connecting' | 'online' | 'reconnecting' | 'closed'
  /** Why it is not online. */
  readonly error?: AgentError
  /** When the next attempt is made. */
  readonly retryInMs?: number
  readonly region?: string
  readonly serverVersion?: string
  readonly latencyMs?: number
}

export interface ConnectionEvent {
  readonly tunnel: Tunnel
  readonly kind: 'opened' | 'closed'
  /** The address of the client. */
  readonly clientAddr: string
  /** Bytes from the client, and bytes from the service. */
  readonly bytesIn: number
  readonly bytesOut: number
  readonly durationMs: number
  /** Why the service could not be reached; undefined when it was. */
  readonly failure?: string | undefined
}

/** An HTTP/1 request whose response has begun. */
export interface RequestEvent {
  readonly tunnel: Tunnel
  readonly method: string
  readonly path: string
  readonly status: number
  /** Until the response began. */
  readonly durationMs: number
}

export interface ConnectionInfo {
  readonly tunnel: Tunnel
  readonly clientAddr: string
  /** Empty for a labelled tunnel. */
  readonly proto: string
  /** The bytes are TLS between the client and the program that reads them. */
  readonly passthroughTls: boolean
}
