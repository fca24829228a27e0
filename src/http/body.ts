/** How the end of a message's content is found. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  /** Answers of HTTP/1 only: the content ends where the connection does. */
  | { readonly kind: 'until_close' }

export interface BodySink {
  data(bytes: Buffer): void
  /** All content has come. `trailers` are lines as in a head; empty in raw mode, where they are part of the bytes. */
  end(trailers: string): void
  /** The content is cut short: its sender failed or broke the protocol. Nothing follows. */
  fail(error: Error): void
}

/**
 * The content of a message on its way. It has one reader and holds no more than what its sender's window allows:
 * who cannot take more calls `pause`.
 */
export interface Body {
  readonly framing: Framing
  /** How many bytes of content have gone through so far, where that is counted. */
  readonly counted?: number
  /** Reading has begun, so that it cannot be read from its start again. */
  readonly isRead?: boolean
  /**
   * Starts the flow. Raw: the bytes as they travel in HTTP/1, chunk sizes and trailers included, for a reader that
   * passes them on in the same framing. Otherwise the content alone.
   */
  read(sink: BodySink, raw: boolean): void
  pause(): void
  resume(): void
  /** Nobody wants the rest. */
  cancel(): void
}

const NONE: Framing = { kind: 'none' }

/** The content of a message that has none. */
export const noBody: Body = {
  framing: NONE,
  read: sink => sink.end(''),
  pause: () => undefined,
  resume: () => undefined,
  cancel: () => undefined,
}

/** Content that is at hand. A class, because most answers are of this kind, and closures for each would cost more. */
class WholeBody implements Body {
  readonly framing: Framing
  readonly #bytes: Buffer

  constructor(bytes: Buffer, framing: Framing) {
    this.#bytes = bytes
    this.framing = framing
  }

  read(sink: BodySink): void {
    if (this.#bytes.length > 0) sink.data(this.#bytes)
    sink.end('')
  }

  pause(): void {
    // All of it was given at once.
  }

  resume(): void {
    // As above.
  }

  cancel(): void {
    // Nothing is on its way.
  }
}

export const bodyOf = (bytes: Buffer, framing: Framing = { kind: 'length', length: bytes.length }): Body =>
  new WholeBody(bytes, framing)
