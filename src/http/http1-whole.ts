import type { Body, BodySink, Framing } from '#http/body.ts'

/** Content that is at hand as text whose characters are bytes, so that it leaves in one write with the head. */
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
    // All of it was given at once.
  }

  resume(): void {
    // As above.
  }

  cancel(): void {
    // Nothing is on its way.
  }
}
