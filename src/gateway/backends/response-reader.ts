import type { CallPhase } from '#gateway/backends/upstream-policy.ts'
import { bodyOf, type Framing, noBody } from '#http/body.ts'
import type { Reply } from '#http/exchange.ts'
import { type BodySource, IncomingBody } from '#http/http1-body.ts'
import { responseTrailers } from '#http/http1-chunks.ts'
import { bareLineFeed } from '#http/http1-request-line.ts'
import { MAX_RESPONSE_HEAD, type ResponseHeads, type UpstreamHead } from '#http/http1-response-head.ts'
import { TextBody } from '#http/http1-whole.ts'
import { release } from '#tunnel/buffer-pool.ts'

/** Gets what a reader has read. It is also the source of the body. */
export interface ResponseReceiver extends BodySource {
  /** An agent is in front of the service. */
  readonly viaAgent: boolean
  /** The connection is new, so that a response may be of the agent in place of its service. */
  readonly mayBeAgentError: boolean
  informational(head: UpstreamHead): void
  /** A response that has arrived completely; `rest` is after it. */
  complete(reply: Reply, rest: Buffer | undefined): void
  /** A response whose body follows. */
  begun(reply: Reply): void
  /** The service switches protocols; `rest` is its first data. */
  switched(head: UpstreamHead, rest: Buffer | undefined): void
  invalid(reason: string): void
  /** The agent reports that it cannot reach the service. */
  unreachable(): void
}

/** Interim responses to one request. */
export const MAX_INTERIM = 10
const FIRST_LOOK = 2048
const DIAL_FAILURE = 'failed to dial backend'
const OLD_AGENT_FAILURE = 'HTTP/0.0 502'
const START = 'HTTP/'
const emptyBody = bodyOf(Buffer.alloc(0))

/** Reads the response to one request from a connection. */
export class ResponseReader {
  readonly #receiver: ResponseReceiver
  readonly #method: string
  readonly #heads: ResponseHeads
  #phase: Exclude<CallPhase, 'done'> = 'head'
  #partial: Buffer | undefined
  #interims = 0
  #head: UpstreamHead | undefined
  #body: IncomingBody | undefined

  constructor(receiver: ResponseReceiver, method: string, heads: ResponseHeads) {
    this.#receiver = receiver
    this.#method = method
    this.#heads = heads
  }

  get phase(): Exclude<CallPhase, 'done'> {
    return this.#phase
  }

  /** No byte of a response has arrived. */
  get isSilent(): boolean {
    return this.#phase === 'head' && this.#partial === undefined && this.#interims === 0
  }

  get hasInterim(): boolean {
    return this.#interims > 0
  }

  /** The service allows another request after this response. */
  get keepsAlive(): boolean {
    return this.#head?.keepAlive === true && this.#head.framing.kind !== 'until_close'
  }

  data(bytes: Buffer): void {
    if (this.#phase === 'body') this.#body?.push(bytes)
    else if (this.#phase === 'head') this.#readHead(bytes)
    else this.#peek(bytes)
  }

  /** Nothing follows what was peeked at. */
  decide(): void {
    const seen = this.#partial
    this.#partial = undefined
    if (seen?.toString('latin1', 0, DIAL_FAILURE.length) === DIAL_FAILURE) this.#receiver.unreachable()
    else if (this.#head !== undefined) this.#flow(this.#head, seen?.length === 0 ? undefined : seen)
  }

  /** The service has ended its direction within the body. */
  endBody(): void {
    this.#body?.close()
  }

  breakBody(error: Error): void {
    this.#body?.fail(error)
  }

  #readHead(bytes: Buffer): void {
    let chunk = this.#partial === undefined ? bytes : Buffer.concat([this.#partial, bytes])
    this.#partial = undefined
    while (chunk.length > 0) {
      let text = chunk.toString('latin1', 0, FIRST_LOOK)
      let end = text.indexOf('\r\n\r\n')
      if (end < 0 && chunk.length > FIRST_LOOK) {
        text = chunk.toString('latin1', 0, MAX_RESPONSE_HEAD)
        end = text.indexOf('\r\n\r\n')
      }
      if (end < 0) {
        this.#wait(chunk, text)
        return
      }
      if (this.#receiver.viaAgent && text.startsWith(OLD_AGENT_FAILURE)) {
        this.#receiver.unreachable()
        return
      }
      const head = this.#heads.read(chunk, text, end + 2, this.#method)
      if (typeof head === 'string') {
        this.#receiver.invalid(head)
        return
      }
      if (text.length === chunk.length && this.#isInline(head, chunk.length - end - 4)) {
        this.#head = head
        this.#receiver.complete({ head, body: new TextBody(text.slice(end + 4), head.framing) }, undefined)
        return
      }
      release(chunk, end + 4)
      chunk = chunk.subarray(end + 4)
      if (head.status >= 200 || head.status === 101) {
        this.#final(head, chunk.length === 0 ? undefined : chunk)
        return
      }
      if (!this.#interim(head)) return
    }
  }

  /** The head is incomplete; fail early if it can never become valid. */
  #wait(chunk: Buffer, text: string): void {
    const receiver = this.#receiver
    if (!text.startsWith(START.slice(0, text.length)))
      receiver.invalid('it does not begin with a status line')
    else if (chunk.length >= MAX_RESPONSE_HEAD)
      receiver.invalid(`its head has more than ${MAX_RESPONSE_HEAD} bytes`)
    else if (bareLineFeed(text) < text.length) receiver.invalid('a line ends without a carriage return')
    else this.#partial = chunk
  }

  #interim(head: UpstreamHead): boolean {
    if (++this.#interims > MAX_INTERIM) {
      this.#receiver.invalid(`it sends more than ${MAX_INTERIM} interim responses`)
      return false
    }
    this.#receiver.informational(head)
    return true
  }

  /** The whole response is here with nothing after it, as usual; it is short enough to be forwarded as text. */
  #isInline({ status, framing }: UpstreamHead, length: number): boolean {
    if (framing.kind !== 'length' || length !== framing.length || length === 0 || length > FIRST_LOOK)
      return false
    return status >= 200 && !(status === 502 && this.#receiver.mayBeAgentError)
  }

  #final(head: UpstreamHead, rest: Buffer | undefined): void {
    this.#head = head
    const { framing, status } = head
    if (status === 101) {
      this.#receiver.switched(head, rest)
    } else if (framing.kind === 'none' || (framing.kind === 'length' && framing.length === 0)) {
      this.#receiver.complete({ head, body: framing.kind === 'none' ? noBody : emptyBody }, rest)
    } else if (status === 502 && this.#receiver.mayBeAgentError) {
      this.#phase = 'peek'
      this.#peek(rest ?? Buffer.alloc(0))
    } else if (framing.kind === 'length' && rest !== undefined && rest.length >= framing.length)
      this.#buffered(head, framing, rest)
    else this.#flow(head, rest)
  }

  /** The whole response came at once. Anything after it is unsolicited. */
  #buffered(head: UpstreamHead, framing: Framing & { readonly kind: 'length' }, rest: Buffer): void {
    const exact = rest.length === framing.length
    const body = bodyOf(exact ? rest : rest.subarray(0, framing.length), framing)
    this.#receiver.complete({ head, body }, exact ? undefined : rest)
  }

  #flow(head: UpstreamHead, rest: Buffer | undefined): void {
    this.#phase = 'body'
    const body = (this.#body = new IncomingBody(head.framing, this.#receiver, responseTrailers))
    if (rest !== undefined) body.push(rest)
    this.#receiver.begun({ head, body })
  }

  /** Some agents respond in place of an unreachable service. */
  #peek(bytes: Buffer): void {
    const seen = this.#partial === undefined ? bytes : Buffer.concat([this.#partial, bytes])
    this.#partial = seen
    const text = seen.toString('latin1', 0, DIAL_FAILURE.length)
    if (text.length === DIAL_FAILURE.length || !DIAL_FAILURE.startsWith(text)) this.decide()
  }
}
