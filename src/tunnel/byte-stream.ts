import type { TunnelError } from '#tunnel/frame.ts'

/** The reader of a byte stream. Its methods are called while the stream's own socket is being read. */
export interface Sink {
  /** Bytes from the peer, to be used or kept; call `pause` on the stream to stop them. */
  data(bytes: Buffer): void
  /** The peer has half-closed. Every stream must be ended in our direction too, or it counts as open forever. */
  end(): void
  /** All bytes of `write` are sent, after it returned false. */
  writable?(): void
  /** The last call: without an error both directions are finished. */
  closed(error: TunnelError | undefined): void
}

/**
 * A bidirectional byte stream with half-close: a stream of an agent's session, of an SSH connection or of a peer. Not a
 * node Duplex, which costs more than all the rest of a small request.
 */
export interface ByteStream {
  readonly closed: boolean
  /** The peer has sent its end; bytes before it may still be unread. */
  readonly peerFinished: boolean
  /** Attaches a reader; buffered bytes are delivered at once. */
  attach(sink: Sink): void
  /** Detaches the reader, for another one; `rest` is what it got but did not use. */
  detach(rest?: Buffer): void
  /** Counts the stream for this client from now on, if that is counted; false: the client has used its share. */
  hold?(client: string | undefined): boolean
  /** The stream is idle, and may be closed when others need its place. */
  rest?(): void
  pause(): void
  resume(): void
  /**
   * Sends bytes, which must not change afterwards. False: wait for `writable` before sending more. `spent`: the caller
   * owns the bytes and they came from a socket or stream; their memory is released when they are sent.
   */
  write(bytes: Buffer, spent?: boolean): boolean
  /** Half-closes, after the buffered bytes; the peer may keep sending. */
  end(bytes?: Buffer): void
  /** Aborts the stream; its reader gets no more events. */
  abort(): void
}
