import type { Body, BodySink, Framing } from '#http/body.ts'

/** A body in memory as a binary string, so that it is sent in one write with the head. */
export class TextBody implements Body {
  readonly text: string
  readonly framing: Framing

  constructor(text: string, framing: Framing) {
    this.text = text
    this.framing = framing
  }

  read(sink: BodySink): void {
    sink.data(Buffer.from(this.text, 'latin1'))
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
