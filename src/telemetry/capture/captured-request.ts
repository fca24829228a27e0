import type { HttpClientConnection } from '#http/exchange.ts'
import type { RequestHead, ResponseHead } from '#http/head.ts'
import { RecordedBody } from '#telemetry/capture/recorded-body.ts'
import type { KeptRequest } from '#telemetry/request-log/ring.ts'

/** What is shown and repeated of a head. */
export type CapturedHead = Pick<
  RequestHead,
  'method' | 'target' | 'authority' | 'upgrade' | 'framing' | 'fields'
>
export type CapturedResponseHead = Pick<ResponseHead, 'status' | 'reason' | 'framing' | 'fields'>

export interface CaptureStart {
  readonly id: string
  readonly client: HttpClientConnection
  readonly head: CapturedHead
  /** The owner of the endpoint; empty if members share it. */
  readonly ownerId: string
  /** The request that it repeats. */
  readonly replayOf?: string | undefined
  /** Headers whose values are unknown since a restart, in lower case. */
  readonly withheld?: readonly string[]
}

/** The overhead of a request under way besides its texts and bodies. */
const ENTRY_BYTES = 1024
const NONE: readonly string[] = []

/** Whether no body follows a head. */
export const isBodiless = ({ framing }: Pick<RequestHead, 'framing'>): boolean =>
  framing.kind === 'none' || (framing.kind === 'length' && framing.length === 0)

/** One request and its response, as the client sent and received them: under way, or read from a page. */
export class CapturedRequest {
  readonly id: string
  readonly client: HttpClientConnection
  readonly head: CapturedHead
  readonly replayOf: string | undefined
  readonly withheld: readonly string[]
  readonly request = new RecordedBody()
  readonly response = new RecordedBody()
  ownerId: string
  /** The response was sent completely. */
  isComplete = false
  /** It has not ended, and was not evicted. */
  isUnderWay = true
  /** Its index among those under way. */
  place = 0
  /** The size of its file; 0 without one. */
  fileBytes = 0
  /** Its entry of the request log, which is saved with it. */
  record: KeptRequest | undefined
  #responseHead: CapturedResponseHead | undefined

  constructor({ id, client, head, ownerId, replayOf, withheld = NONE }: CaptureStart) {
    this.id = id
    this.ownerId = ownerId
    this.client = client
    this.head = head
    this.replayOf = replayOf
    this.withheld = withheld
    if (isBodiless(head)) this.request.end()
  }

  get responseHead(): CapturedResponseHead | undefined {
    return this.#responseHead
  }

  /** Memory that it holds while it is under way. */
  get held(): number {
    const texts = this.head.fields.text.length + this.head.target.length
    const response = this.#responseHead?.fields.text.length ?? 0
    return ENTRY_BYTES + texts + response + this.request.held + this.response.held
  }

  /** A response whose body follows; it replaces an earlier one, which could not be sent. */
  respond(head: CapturedResponseHead): void {
    this.#responseHead = head
    this.response.clear()
  }
}
