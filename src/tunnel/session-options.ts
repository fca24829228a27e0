import type { FloodMeter } from '#tunnel/flood-meter.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

export interface OpenOptions {
  /** Ends the wait for a place. */
  readonly signal?: AbortSignal | undefined
  /** How long it may wait for a place; without it, as long as the session lasts. */
  readonly waitMs?: number | undefined
  /** Whom the stream is for: what may be open at once is divided among clients. */
  readonly client?: string | undefined
}

export interface SessionOptions {
  /** The agent is the client. */
  readonly role: 'client' | 'server'
  /** A stream of the peer whose type is known. Without it every stream is refused. */
  readonly accept?: (type: number, stream: TunnelStream) => void
  /** Streams of ours that may be open at once; some agents die at 512. */
  readonly maxOpen?: number
  /** How long a stream that we reset still counts, in milliseconds: some agents free it late, and die of one too many. */
  readonly leaveMs?: number
  /** Openings that may wait for another stream to finish. */
  readonly maxWaiting?: number
  /** Streams of the peer that may be open at once; more are refused. */
  readonly maxAccepted?: number
  /** How large the window of a proxy stream may become on a long way; more than the initial one only with a peer of our own. */
  readonly growTo?: number
  /** Unread bytes of all streams beyond which no credit is given; windows grow by half of this together. */
  readonly memoryLimit?: number
  /** Ends the session with a peer that floods; without it such frames are only ignored. */
  readonly floods?: FloodMeter
}
