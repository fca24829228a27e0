import type { Framing } from '#http/body.ts'
import type { HttpClientConnection } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import { CapturedRequest } from '#telemetry/capture/captured-request.ts'
import type { RecordedBody } from '#telemetry/capture/recorded-body.ts'
import type { KeptRequest } from '#telemetry/request-log/ring.ts'

/** The overhead of a capture besides its bytes: its client, and the space of both in the lists of the page. */
const ENTRY_BYTES = 256

/** The overhead of the entry of the request log. */
const RECORD_BYTES = 1536

/** Offset of a number of a capture; `texts` is the length of its texts together. */
const [texts, requestFraming, responseFraming, status, complete, fileBytes] = [0, 1, 2, 3, 4, 5] as const
/** Offset of the numbers of each body. */
const [requestBody, responseBody] = [6, 9] as const
const NUMBERS = 12
const NUMBER_BYTES = Float64Array.BYTES_PER_ELEMENT

/** Between texts: no part of an HTTP head may contain it. */
const SEPARATOR = '\0'

/** A framing as a number: a length, or one of these. */
const unsized: readonly Exclude<Framing['kind'], 'length'>[] = ['none', 'chunked', 'until_close']

const framingNumber = (framing: Framing): number =>
  framing.kind === 'length' ? framing.length : -1 - unsized.indexOf(framing.kind)

const framingOf = (number: number): Framing =>
  number >= 0 ? { kind: 'length', length: number } : { kind: unsized[-1 - number] ?? 'none' }

/**
 * The texts of a capture in a fixed order, which are Latin-1 as in HTTP. As one text: to read the length of each would
 * cost more than to copy it, because V8 has many kinds of strings.
 */
export const textOf = ({ id, replayOf = '', withheld, head, responseHead }: CapturedRequest): string =>
  [
    id,
    replayOf,
    withheld.length === 0 ? '' : withheld.join(),
    head.method,
    head.target,
    head.authority,
    head.upgrade,
    head.fields.text,
    responseHead?.reason ?? '',
    responseHead?.fields.text ?? '',
  ].join(SEPARATOR)

/** How much space the bytes of a capture need. */
export function pageBytes({ request, response }: CapturedRequest, text: string): number {
  const length = NUMBERS * NUMBER_BYTES + text.length + request.kept + response.kept
  return Math.ceil(length / NUMBER_BYTES) * NUMBER_BYTES
}

/**
 * Captures of one owner that have ended, as bytes: numbers, texts and bodies. As objects they would be promoted, and the
 * collector would have to move them. They are parsed when they are read.
 */
export class CapturePage {
  readonly memory: Buffer
  readonly ownerId: string
  /** The same memory. */
  readonly #numbers: Float64Array
  /** Of each capture: where it begins, its client, and its entry of the request log if that is saved. */
  readonly #starts: number[] = []
  readonly #clients: HttpClientConnection[] = []
  readonly #records: (KeptRequest | undefined)[] = []
  #recordBytes = 0
  #fileBytes = 0
  #used = 0
  /** The first and the last in order, of as many captures: an id begins with the time. */
  #firstId = ''
  #lastId = ''
  #compared = 0

  /** `memory` has a length that is divisible by 8. */
  constructor(ownerId: string, memory: Buffer) {
    this.ownerId = ownerId
    this.memory = memory
    this.#numbers = new Float64Array(memory.buffer, memory.byteOffset, memory.length / NUMBER_BYTES)
  }

  /** Memory that it holds, or space on disk if that is more. */
  get held(): number {
    const entries = this.#starts.length * ENTRY_BYTES + this.#recordBytes
    return Math.max(this.memory.length + entries, this.#fileBytes)
  }

  get room(): number {
    return this.memory.length - this.#used
  }

  /** The entries of the request log that are saved with captures. */
  get records(): KeptRequest[] {
    return this.#records.filter(record => record !== undefined)
  }

  /** Adds a capture, for which there must be room. */
  add(captured: CapturedRequest, text: string): void {
    const start = this.#used
    const index = this.#starts.push(start) - 1
    this.#clients.push(captured.client)
    if (captured.record !== undefined) {
      this.#records[index] = captured.record
      this.#recordBytes += RECORD_BYTES
    }
    const first = start / NUMBER_BYTES
    this.#putNumbers(first, captured)
    this.#numbers[first + texts] = text.length
    let at = start + NUMBERS * NUMBER_BYTES
    at += this.memory.write(text, at, 'latin1')
    at += captured.request.copy(this.memory, at)
    at += captured.response.copy(this.memory, at)
    this.#used = Math.ceil(at / NUMBER_BYTES) * NUMBER_BYTES
    this.#setFile(index, captured.fileBytes)
  }

  /** A file of this size was written for a capture; false if the page does not have it. */
  saved(id: string, bytes: number): boolean {
    const index = this.#indexOf(id)
    if (index !== -1) this.#setFile(index, bytes)
    return index !== -1
  }

  has(id: string): boolean {
    return this.#indexOf(id) !== -1
  }

  find(id: string): CapturedRequest | undefined {
    const index = this.#indexOf(id)
    return index === -1 ? undefined : this.#read(index)
  }

  /** The ids of all, each with the size of its file. */
  *files(): Generator<[id: string, bytes: number]> {
    for (const index of this.#starts.keys()) yield [this.#idAt(index), this.#numberOf(index, fileBytes)]
  }

  #putNumbers(first: number, captured: CapturedRequest): void {
    const { head, responseHead, request, response } = captured
    const numbers = this.#numbers
    numbers[first + requestFraming] = framingNumber(head.framing)
    numbers[first + responseFraming] = responseHead === undefined ? 0 : framingNumber(responseHead.framing)
    numbers[first + status] = responseHead?.status ?? 0
    numbers[first + complete] = captured.isComplete ? 1 : 0
    this.#putBody(first + requestBody, request)
    this.#putBody(first + responseBody, response)
  }

  #putBody(at: number, { kept, size, isWhole }: RecordedBody): void {
    const numbers = this.#numbers
    numbers[at] = kept
    numbers[at + 1] = size
    numbers[at + 2] = isWhole ? 1 : 0
  }

  #setFile(index: number, bytes: number): void {
    this.#numbers[this.#numberAt(index, fileBytes)] = bytes
    this.#fileBytes += bytes
  }

  #indexOf(id: string): number {
    this.#compareIds()
    if (id < this.#firstId || id > this.#lastId) return -1
    return this.#starts.findIndex((_, index) => this.#idAt(index) === id)
  }

  /** Only when one is read: for each request it would take a fifth of what its capture costs. */
  #compareIds(): void {
    for (; this.#compared < this.#starts.length; this.#compared++) {
      const id = this.#idAt(this.#compared)
      if (this.#firstId === '' || id < this.#firstId) this.#firstId = id
      if (id > this.#lastId) this.#lastId = id
    }
  }

  #numberAt(index: number, number: number): number {
    return (this.#starts[index] ?? 0) / NUMBER_BYTES + number
  }

  #numberOf(index: number, number: number): number {
    return this.#numbers[this.#numberAt(index, number)] ?? 0
  }

  #textsAt(index: number): number {
    return (this.#starts[index] ?? 0) + NUMBERS * NUMBER_BYTES
  }

  #idAt(index: number): string {
    const at = this.#textsAt(index)
    return this.memory.toString('latin1', at, this.memory.indexOf(SEPARATOR, at, 'latin1'))
  }

  #read(index: number): CapturedRequest {
    const textsAt = this.#textsAt(index)
    let at = textsAt + this.#numberOf(index, texts)
    const [
      id = '',
      replayOf = '',
      withheld = '',
      method = '',
      target = '',
      authority = '',
      upgrade = '',
      ...rest
    ] = this.memory.toString('latin1', textsAt, at).split(SEPARATOR)
    const [requestFields = '', reason = '', responseFields = ''] = rest
    const numberOf = (number: number): number => this.#numberOf(index, number)
    const captured = new CapturedRequest({
      id,
      ownerId: this.ownerId,
      client: this.#clients[index] as HttpClientConnection,
      head: {
        method,
        target,
        authority,
        upgrade,
        framing: framingOf(numberOf(requestFraming)),
        fields: new Fields(requestFields),
      },
      replayOf: replayOf === '' ? undefined : replayOf,
      withheld: withheld === '' ? [] : withheld.split(','),
    })
    if (numberOf(status) !== 0)
      captured.respond({
        status: numberOf(status),
        reason,
        framing: framingOf(numberOf(responseFraming)),
        fields: new Fields(responseFields),
      })
    captured.isComplete = numberOf(complete) === 1
    captured.record = this.#records[index]
    for (const [body, first] of [
      [captured.request, requestBody],
      [captured.response, responseBody],
    ] as const) {
      const kept = numberOf(first)
      const bytes = this.memory.subarray(at, at + kept)
      body.restore(bytes, { size: numberOf(first + 1), isWhole: numberOf(first + 2) === 1 })
      at += kept
    }
    return captured
  }
}
