import type { Egress } from '#base/egress.ts'
import type { Log } from '#base/log.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Endpoint, ClientConnection } from '#http/exchange.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import type { TunnelIndex } from '#registry/tunnel-index.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'

/** An endpoint with idle connections; closed when its tunnel or route is gone. */
export type ClosableEndpoint = Endpoint & { close(): void }

/** Creates the end of a handler chain, which forwards requests to the upstream of a tunnel. */
export type MakeBackend = (tunnel: TunnelRecord, dialer: AgentDialer) => ClosableEndpoint

/** The end of a handler chain. Created for each route, so that endpoints never share connections. */
export interface Backend {
  /** Responds to requests. An unreachable service is a response too, with `lost` set. */
  readonly answer: Endpoint
  /**
   * Opens a connection for non-HTTP traffic and sends `first` on it. Rejects with a `DialError` when that fails.
   * Undefined: this backend supports only HTTP.
   */
  readonly dial: ((client: ClientConnection, first: Buffer) => Promise<ByteStream>) | undefined
  /** Closes its idle connections. */
  close(): void
}

/** The dependencies of backends. */
export interface BackendParts {
  /** The kind of edge, as sent to agents. */
  readonly edge: 'https' | 'tcp' | 'tls'
  /** Passes the client's TLS through to the service; the default on TLS edges. */
  readonly passthrough?: boolean
  readonly index: TunnelIndex
  readonly dialer: AgentDialer
  readonly makeTunnel: MakeBackend
  readonly egress: Egress
  readonly log: Log
  /** Another backend that this one refers to. */
  child(id: string): Backend
}

export type BuildBackend = (row: SourceRow, parts: BackendParts) => Backend
