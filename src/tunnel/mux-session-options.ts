import type { FloodMeter } from '#tunnel/flood-meter.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

export interface OpenOptions {
  /** Ends the wait for a slot. */
  readonly signal?: AbortSignal | undefined
  /** How long it may wait for a slot; default as long as the session lasts. */
  readonly waitMs?: number | undefined
  /** The client of the stream: slots are divided among clients. */
  readonly client?: string | undefined
}

export interface MuxSessionOptions {
  /** The agent is the client. */
  readonly role: 'client' | 'server'
  /** A stream of the peer whose type is known. Without it every stream is refused. */
  readonly accept?: (type: number, stream: TunnelStream) => void
  /** Our concurrent streams; some agents crash at 512. */
  readonly maxOpen?: number
  /**
   * How long a stream that we reset still counts, in milliseconds: some agents free it late, and crash at one too many.
   */
  readonly leaveMs?: number
  /**
   * How many bytes of a stream that we aborted are dropped before it is reset: some agents never free a reset one, but
   * these bytes delay others on a slow link.
   */
  readonly maxDiscarded?: number
  /** Opens that may wait for another stream to finish. */
  readonly maxWaiting?: number
  /** Concurrent streams of the peer; more are rejected. */
  readonly maxAccepted?: number
  /** Maximum window of a proxy stream on a long path; more than the initial one only between Adit ends. */
  readonly growTo?: number
  /** The peer's GOAWAY states which streams it has read; that of some agents does not. */
  readonly trustsLastId?: boolean
  /** Unread bytes of all streams beyond which no credit is given; windows grow by half of this together. */
  readonly memoryLimit?: number
  /** Closes the session with a flooding peer; without it such frames are only ignored. */
  readonly floods?: FloodMeter
}
