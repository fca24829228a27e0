/** How the end of a message body is found. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  /** HTTP/1 responses only: the body ends with the connection. */
  | { readonly kind: 'until_close' }

export interface BodySink {
  data(bytes: Buffer): void
  /** The body is complete. `trailers` are lines as in a head; empty in raw mode, where they are part of the bytes. */
  end(trailers: string): void
  /** The body is truncated: its sender failed or broke the protocol. Nothing follows. */
  fail(error: Error): void
}

/**
 * A streaming message body. It has one reader and buffers no more than its sender's window: a slow reader calls
 * `pause`.
 */
export interface Body {
  readonly framing: Framing
  /** Body bytes so far, if counted. */
  readonly counted?: number
  /** All of it, if it is in memory. */
  readonly whole?: Buffer
  /** Reading has begun, so it cannot be replayed. */
  readonly isRead?: boolean
  /**
   * Starts the flow. Raw: the bytes in HTTP/1 framing, with chunk sizes and trailers, for a reader that forwards them
   * in the same framing. Otherwise only the content.
   */
  read(sink: BodySink, raw: boolean): void
  pause(): void
  resume(): void
  /** The rest is not needed. */
  cancel(): void
}

const NONE: Framing = { kind: 'none' }

/** The body of a message without one. */
export const noBody: Body = {
  framing: NONE,
  read: sink => sink.end(''),
  pause: () => undefined,
  resume: () => undefined,
  cancel: () => undefined,
}

/** A body in memory. A class, because most responses are of this kind, and closures for each would cost more. */
class WholeBody implements Body {
  readonly framing: Framing
  readonly whole: Buffer

  constructor(bytes: Buffer, framing: Framing) {
    this.whole = bytes
    this.framing = framing
  }

  read(sink: BodySink): void {
    if (this.whole.length > 0) sink.data(this.whole)
    sink.end('')
  }

  pause(): void {
    // It was delivered at once.
  }

  resume(): void {
    // As above.
  }

  cancel(): void {
    // Nothing is in flight.
  }
}

export const bodyOf = (bytes: Buffer, framing: Framing = { kind: 'length', length: bytes.length }): Body =>
  new WholeBody(bytes, framing)
