import type { Body, BodySink } from '#gateway/http/body.ts'

const FIRST_BYTES = 16 * 1024
const EMPTY = Buffer.alloc(0)

/** Memory for content of senders that have not proved who they are; all gateways of a process share it. */
export class Allowance {
  #left: number

  constructor(bytes: number) {
    this.#left = bytes
  }

  get left(): number {
    return this.#left
  }

  take(bytes: number): boolean {
    if (bytes > this.#left) return false
    this.#left -= bytes
    return true
  }

  giveBack(bytes: number): void {
    this.#left += bytes
  }
}

/** `cut`: its sender did not finish. `full`: too much of others is being read at this moment. */
export type GatheringEnd = 'whole' | 'too_large' | 'cut' | 'full'

/** Reads content to its end. What it takes of the allowance it has until `release`. */
export class Gathering implements BodySink {
  trailers = ''
  readonly #body: Body
  readonly #limit: number
  readonly #allowance: Allowance
  readonly #done = Promise.withResolvers<GatheringEnd>()
  #bytes = EMPTY
  #length = 0
  #taken = 0
  #over = false

  constructor(body: Body, limit: number, allowance: Allowance) {
    this.#body = body
    this.#limit = limit
    this.#allowance = allowance
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  read(): Promise<GatheringEnd> {
    this.#body.read(this, false)
    return this.#done.promise
  }

  /** The content is given up, or belongs to a sender who has proved who it is. */
  release(): void {
    this.#allowance.giveBack(this.#taken)
    this.#taken = 0
  }

  data(piece: Buffer): void {
    if (this.#over) return
    const length = this.#length + piece.length
    if (length > this.#limit) this.#giveUp('too_large')
    else if (!this.#hasRoom(length)) this.#giveUp('full')
    else {
      // Copied, because pieces can be single bytes, and each may keep the whole of what it was read into.
      piece.copy(this.#bytes, this.#length)
      this.#length = length
    }
  }

  end(trailers: string): void {
    this.trailers = trailers
    this.#finish('whole')
  }

  fail(): void {
    this.#bytes = EMPTY
    this.#finish('cut')
  }

  #hasRoom(length: number): boolean {
    if (length <= this.#bytes.length) return true
    const size = Math.min(this.#limit, Math.max(length, this.#expected(), this.#bytes.length * 2))
    if (!this.#allowance.take(size - this.#taken)) return false
    this.#taken = size
    const larger = Buffer.allocUnsafeSlow(size)
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
    return true
  }

  /** What a sender announces is believed only as far as it costs little to be wrong. */
  #expected(): number {
    const { framing } = this.#body
    return framing.kind === 'length' ? Math.min(framing.length, FIRST_BYTES) : FIRST_BYTES
  }

  #giveUp(end: GatheringEnd): void {
    this.#over = true
    this.#bytes = EMPTY
    this.#length = 0
    this.#body.cancel()
    this.#finish(end)
  }

  #finish(end: GatheringEnd): void {
    this.#over = true
    this.#done.resolve(end)
  }
}
