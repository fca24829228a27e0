import { areTrailers, type HeaderField } from '#http2/header-field.ts'
import type { RequestPseudoFields, UniqueField } from '#http2/hpack-encoder.ts'
import { PROTOCOL_ERROR } from '#http2/protocol.ts'
import { type ResponseHeadFields, responseFields } from '#http2/response-fields.ts'
import { Http2Stream, type Http2StreamHost, type StreamReader } from '#http2/stream.ts'

const NO_CONTENT = 204
const NOT_MODIFIED = 304

/** Gets a response. */
export interface ClientStreamReader extends StreamReader {
  /** An interim response. */
  informational(head: ResponseHeadFields): void
  /** The head of the response; `isComplete`: nothing follows. */
  response(head: ResponseHeadFields, isComplete: boolean): void
  /** The server needs no more of the request. */
  stopped(): void
}

/** The head of a request; `lines` as in HTTP/1. */
export interface OutgoingHead extends RequestPseudoFields {
  readonly length: number | undefined
  readonly lines: string
  readonly unique: UniqueField | undefined
  /** The end is a DATA frame, even if there is no content. */
  readonly endsWithData: boolean
}

/** A request to a server and its response, at the client. */
export class Http2ClientStream extends Http2Stream<ClientStreamReader> {
  readonly #isHead: boolean
  #hasResponse = false

  /** Sends the head of the request. */
  constructor(id: number, host: Http2StreamHost, sendWindow: number, head: OutgoingHead) {
    super(id, host, sendWindow)
    this.#isHead = head.method === 'HEAD'
    this.sendBlock(host.encoder.encodeRequest(head, head.length, head.lines, head.unique), 0)
    if (head.endsWithData) host.output.seal()
  }

  /** A header block of the server; undefined: its fields exceed the limits. */
  headers(fields: readonly HeaderField[] | undefined, ends: boolean): void {
    if (fields === undefined) {
      this.reset(PROTOCOL_ERROR)
    } else if (this.#hasResponse) {
      if (ends && areTrailers(fields)) this.remoteEnd(fields)
      else this.reset(PROTOCOL_ERROR)
    } else {
      this.#head(responseFields(fields, ends), ends)
    }
  }

  override receive(bytes: Buffer, flow: number): void {
    if (this.#hasResponse) super.receive(bytes, flow)
    else this.reset(PROTOCOL_ERROR)
  }

  override remoteEnd(trailers: readonly HeaderField[]): void {
    if (this.#hasResponse) super.remoteEnd(trailers)
    else this.reset(PROTOCOL_ERROR)
  }

  /** A response that has arrived as a whole is delivered, even if the server stops the upload or is gone. */
  override abort(code: number): void {
    if (this.isOver || !this.isRemotelyEnded) {
      super.abort(code)
      return
    }
    this.guard(reader => reader.stopped())
    this.stopSending()
  }

  protected ended(): void {
    if (this.isEndDelivered) this.close(undefined, false)
  }

  #head(head: ResponseHeadFields | undefined, ends: boolean): void {
    if (head === undefined) {
      this.reset(PROTOCOL_ERROR)
      return
    }
    const { status } = head
    if (status < 200) {
      this.guard(reader => reader.informational(head))
      return
    }
    const isEmpty = this.#isHead || status === NO_CONTENT || status === NOT_MODIFIED
    const length = isEmpty ? 0 : head.length
    if (ends && length !== undefined && length > 0) {
      this.reset(PROTOCOL_ERROR)
      return
    }
    this.#hasResponse = true
    this.guard(reader => reader.response(head, ends))
    this.begin(length, ends)
  }
}
