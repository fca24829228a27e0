import { envelopeParts } from '#contract/events/envelope.ts'
import type { OutgoingEvent } from '#events/destination.ts'

/** Events as sent, each a line of JSON. */
export interface EventPage {
  readonly bytes: Buffer
  /** Where each line ends; the byte there is a line feed. */
  readonly ends: readonly number[]
  readonly types: readonly string[]
  /** The endpoint of each. */
  readonly endpoints: readonly string[]
  /** The possible fields of each type: the objects have no others. */
  readonly fields: Readonly<Record<string, readonly string[]>>
}

const QUOTE = 0x22
const LINE_FEED = '\n'
const MOMENT_LENGTH = 24

/** An event stored as bytes among others, so that it is converted to a string only on demand. */
export class LineEvent implements OutgoingEvent {
  readonly type: string
  readonly endpoint: string
  readonly fields: readonly string[]
  readonly bytes: Buffer
  readonly start: number
  readonly end: number

  constructor(page: EventPage, line: number) {
    const { bytes, ends, types, endpoints, fields } = page
    this.bytes = bytes
    this.start = line === 0 ? 0 : (ends[line - 1] ?? 0) + 1
    this.end = ends[line] ?? 0
    this.type = types[line] ?? ''
    this.endpoint = endpoints[line] ?? ''
    this.fields = fields[this.type] ?? []
  }

  get id(): string {
    const from = this.start + envelopeParts(this.type, '').beforeId.length
    return this.bytes.toString('latin1', from, this.bytes.indexOf(QUOTE, from))
  }

  get at(): string {
    const { beforeId, beforeAt } = envelopeParts(this.type, '')
    const from = this.start + beforeId.length
    const at = this.bytes.indexOf(QUOTE, from) + beforeAt.length
    return this.bytes.toString('latin1', at, at + MOMENT_LENGTH)
  }

  get body(): string {
    return this.bytes.toString('utf8', this.start, this.end)
  }
}

export const eventsOf = (page: EventPage): LineEvent[] =>
  Array.from(page.ends, (_, line) => new LineEvent(page, line))

/** Bytes of its body. */
export const sizeOf = (event: OutgoingEvent): number =>
  event instanceof LineEvent ? event.end - event.start : Buffer.byteLength(event.body)

/** No less than that, without reading the body: a UTF-16 unit has at most three bytes in UTF-8. */
export const mostBytesOf = (event: OutgoingEvent): number =>
  event instanceof LineEvent ? event.end - event.start : event.body.length * 3

/** The bodies, each followed by a line feed. Adjacent ones are taken as one slice. */
export function linesOf(events: readonly OutgoingEvent[]): Buffer {
  const pieces: Buffer[] = []
  for (let from = 0; from < events.length;) {
    let to = from + 1
    while (to < events.length && follows(events[to - 1], events[to])) to++
    pieces.push(piece(events.slice(from, to)))
    from = to
  }
  const [first = Buffer.alloc(0)] = pieces
  return pieces.length <= 1 ? first : Buffer.concat(pieces)
}

function follows(one: OutgoingEvent | undefined, next: OutgoingEvent | undefined): boolean {
  if (!(one instanceof LineEvent) || !(next instanceof LineEvent))
    return !(one instanceof LineEvent) && !(next instanceof LineEvent)
  return one.bytes === next.bytes && one.end + 1 === next.start
}

function piece(run: readonly OutgoingEvent[]): Buffer {
  const [first, last] = [run[0], run.at(-1)]
  return first instanceof LineEvent && last instanceof LineEvent
    ? first.bytes.subarray(first.start, last.end + 1)
    : Buffer.from(run.map(({ body }) => body + LINE_FEED).join(''))
}
