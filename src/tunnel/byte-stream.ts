import type { TunnelError } from '#tunnel/frame.ts'

/** Who reads a byte stream. Its methods are called while the stream's own socket is being read. */
export interface Sink {
  /** Bytes of the peer, to be used or kept; call `pause` on the stream when no more can be taken. */
  data(bytes: Buffer): void
  /** The peer is finished. Every stream must be ended in our direction too, or it counts as open for ever. */
  end(): void
  /** All bytes given to `write` are on their way, after it answered false. */
  writable?(): void
  /** The last call: without an error both directions are finished. */
  closed(error: TunnelError | undefined): void
}

/**
 * A pair of byte streams with half-close: a stream of an agent's session, of an SSH connection or of a peer.
 * It is no node Duplex, because that costs more than all of the rest on the path of a small request.
 */
export interface ByteStream {
  readonly closed: boolean
  /** The peer has sent its end; bytes before it may still wait to be read. */
  readonly peerFinished: boolean
  /** Gives the stream its reader; what came before is delivered at once. */
  attach(sink: Sink): void
  /** Takes the reader away, for another one; `rest` is what it was given but did not use. */
  detach(rest?: Buffer): void
  /** Counts the stream as one of this client from now on, where that is counted; false: the client has its share. */
  hold?(client: string | undefined): boolean
  /** Nobody uses the stream for now, and it may be closed when others need its place. */
  rest?(): void
  pause(): void
  resume(): void
  /**
   * Sends bytes, which must not change afterwards. False: wait for `writable` before sending more. `spent` says that
   * they came from a socket or stream and nobody else will look at them: their memory is given back when they are sent.
   */
  write(bytes: Buffer, spent?: boolean): boolean
  /** Finishes our direction, after the bytes that still wait; the peer may go on sending. */
  end(bytes?: Buffer): void
  /** Gives the stream up; its reader hears no more. */
  abort(): void
}
