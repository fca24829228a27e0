import type { Body } from '#http/body.ts'
import type { HttpClientConnection } from '#http/exchange.ts'
import type { RequestHead, ResponseHead } from '#http/head.ts'
import { RecordedBody } from '#telemetry/capture/recorded-body.ts'
import type { KeptRequest } from '#telemetry/request-log/ring.ts'

export interface CaptureStart {
  readonly id: string
  readonly client: HttpClientConnection
  readonly head: RequestHead
  /** The owner of the endpoint; empty if members share it. */
  readonly ownerId: string
  /** The request that it repeats. */
  readonly replayOf?: string | undefined
  /** Headers whose values are unknown since a restart, in lower case. */
  readonly withheld?: readonly string[]
}

/** The overhead of a capture besides its texts and bodies. */
const ENTRY_BYTES = 1024

/** The overhead of the entry of the request log. */
const RECORD_BYTES = 1536

/** Whether no body follows a head. */
export const isBodiless = ({ framing }: Pick<RequestHead, 'framing'>): boolean =>
  framing.kind === 'none' || (framing.kind === 'length' && framing.length === 0)

/** One request and its response, as the client sent and received them. */
export class CapturedRequest {
  readonly id: string
  readonly client: HttpClientConnection
  readonly head: RequestHead
  readonly replayOf: string | undefined
  readonly withheld: readonly string[]
  readonly request = new RecordedBody()
  readonly response = new RecordedBody()
  ownerId: string
  /** The response was sent completely. */
  isComplete = false
  /** False once it was evicted. */
  isKept = true
  /** The size of its file; 0 without one. */
  fileBytes = 0
  /** Its entry of the request log, which is saved with it. */
  record: KeptRequest | undefined
  #responseHead: ResponseHead | undefined
  #responseBody: Body | undefined

  constructor({ id, client, head, ownerId, replayOf, withheld = [] }: CaptureStart) {
    this.id = id
    this.ownerId = ownerId
    this.client = client
    this.head = head
    this.replayOf = replayOf
    this.withheld = withheld
    if (isBodiless(head)) this.request.end()
  }

  get responseHead(): ResponseHead | undefined {
    return this.#responseHead
  }

  /** Memory that it holds, or space on disk if that is more. */
  get held(): number {
    const texts = this.head.fields.text.length + this.head.target.length
    const response = this.#responseHead?.fields.text.length ?? 0
    const entry = ENTRY_BYTES + (this.record === undefined ? 0 : RECORD_BYTES)
    return Math.max(entry + texts + response + this.request.held + this.response.held, this.fileBytes)
  }

  /** A response whose body is recorded; it replaces an earlier one, after which another service was tried. */
  respond(head: ResponseHead, body: Body): void {
    this.#responseHead = head
    this.#responseBody = body
    this.response.clear()
  }

  /** Whether this is the body that is recorded. */
  records(body: Body): boolean {
    return this.#responseBody === body
  }
}
