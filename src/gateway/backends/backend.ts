import type { Egress } from '#base/egress.ts'
import type { Log } from '#base/log.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Endpoint, Guest } from '#http/exchange.ts'
import type { Fleet } from '#registry/fleet.ts'
import type { TunnelIndex } from '#registry/tunnel-index.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'

/** An endpoint that keeps connections; closed when what it serves is gone. */
export type ClosableEndpoint = Endpoint & { close(): void }

/** Makes the end of a chain: it passes requests on to what a tunnel forwards to. */
export type MakeBackend = (tunnel: TunnelRecord, fleet: Fleet) => ClosableEndpoint

/** Where accepted traffic ends. Made anew for each route, so that no connection is shared between endpoints. */
export interface Backend {
  /** Answers requests. A service that cannot be reached is an answer too, with `lost` set. */
  readonly answer: Endpoint
  /**
   * Opens a connection for traffic without HTTP; `first` leaves with it. Rejects with a `DialError` when it cannot be
   * opened. Undefined: this backend knows only HTTP.
   */
  readonly dial: ((visitor: Guest, first: Buffer) => Promise<ByteStream>) | undefined
  /** What it kept open is given back. */
  close(): void
}

/** What backends are made from. */
export interface BackendParts {
  /** The kind of edge, as agents are told. */
  readonly edge: 'https' | 'tcp' | 'tls'
  /** The visitor's own TLS goes on to the service; as a rule it does so on TLS edges. */
  readonly passthrough?: boolean
  readonly index: TunnelIndex
  readonly fleet: Fleet
  readonly makeTunnel: MakeBackend
  readonly egress: Egress
  readonly log: Log
  /** Another backend that this one leads to. */
  child(id: string): Backend
}

export type BuildBackend = (row: SourceRow, parts: BackendParts) => Backend
