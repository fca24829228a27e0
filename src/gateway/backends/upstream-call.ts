import { clientNetwork } from '#base/client-network.ts'
import type { ErrorName } from '#base/errors.ts'
import { canRetry, isIdempotent } from '#gateway/backends/retry.ts'
import type { StreamPool, StreamUser, UpstreamStream } from '#gateway/backends/stream-pool.ts'
import { Upload } from '#gateway/backends/upload.ts'
import type { Exchange, UpstreamFailure, Reply } from '#http/exchange.ts'
import { bodyOf, type Framing, noBody } from '#http/body.ts'
import { type BodySource, IncomingBody } from '#http/http1-body.ts'
import { responseTrailers } from '#http/http1-chunks.ts'
import { bareLineFeed } from '#http/http1-request-head.ts'
import { TextBody } from '#http/http1-whole.ts'
import { MAX_RESPONSE_HEAD, parseResponseHead, type UpstreamHead } from '#http/http1-response-head.ts'
import { errorReply } from '#http/pages.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { isSessionLost, TunnelError, type TunnelErrorCode } from '#tunnel/frame.ts'
import { TunnelStream } from '#tunnel/stream.ts'

/** Shared by all requests to one service. */
export interface HttpUpstream {
  readonly pool: StreamPool
  /** An agent is in front of the service, and responds in its place when it is unreachable. */
  readonly viaAgent: boolean
  /** Connections may be reused. */
  readonly reusable: boolean
  readonly answerTimeoutMs: number
  now(): number
  /** The request head as sent upstream. */
  text(exchange: Exchange): string
  dial(exchange: Exchange, first: Buffer): Promise<ByteStream>
  /** The response for a failed dial; undefined: an internal error. */
  notDialled(error: unknown): ErrorName | undefined
}

const MAX_INTERIM = 10
const FIRST_LOOK = 2048
// A service may close an idle connection just as a request is sent; non-idempotent requests avoid that.
const FRESH_MS = 1000
const DIAL_FAILURE = 'failed to dial backend'
const OLD_AGENT_FAILURE = 'HTTP/0.0 502'
const START = 'HTTP/'
/** The connection was closed in favour of another client. */
const EVICTED: TunnelErrorCode = 'streams_exhausted'
const emptyBody = bodyOf(Buffer.alloc(0))

type Phase = 'head' | 'peek' | 'body' | 'done'

/** One request to the service behind a tunnel, and its response. */
export class UpstreamCall implements StreamUser, BodySource {
  readonly #upstream: HttpUpstream
  readonly #exchange: Exchange
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (error: unknown) => void
  readonly #upload: Upload | undefined
  #phase: Phase = 'head'
  #used: UpstreamStream | undefined
  #retried = false
  #partial: Buffer | undefined
  #interims = 0
  #head: UpstreamHead | undefined
  #body: IncomingBody | undefined
  #since: number

  constructor(
    upstream: HttpUpstream,
    exchange: Exchange,
    resolve: (reply: Reply) => void,
    reject: (error: unknown) => void,
  ) {
    this.#upstream = upstream
    this.#exchange = exchange
    this.#resolve = resolve
    this.#reject = reject
    this.#since = upstream.now()
    const { framing } = exchange.head
    if (framing.kind === 'chunked' || (framing.kind === 'length' && framing.length > 0))
      this.#upload = new Upload(
        exchange.body,
        () => (this.#since = upstream.now()),
        () => this.#unanswered('upstream_closed'),
      )
  }

  start(): void {
    const { head, clientAbort, client } = this.#exchange
    clientAbort.onAbort(() => this.#clientAborted())
    const { pool, reusable } = this.#upstream
    const withinMs = isIdempotent(head) ? Infinity : FRESH_MS
    const used = reusable ? pool.take(withinMs, clientNetwork(client.ip)) : undefined
    const text = this.#upstream.text(this.#exchange)
    if (used === undefined) {
      this.#dial(Buffer.from(text, 'latin1'))
      return
    }
    this.#exchange.context.reused = true
    this.#used = used
    used.use(this)
    if (used.stream instanceof TunnelStream) used.stream.writeText(text)
    else used.stream.write(Buffer.from(text, 'latin1'))
    this.#upload?.connect(used.stream)
  }

  data(bytes: Buffer): void {
    if (this.#phase === 'body') this.#body?.push(bytes)
    else if (this.#phase === 'head') this.#readHead(bytes)
    else if (this.#phase === 'peek') this.#sniffAgentError(bytes)
  }

  end(): void {
    if (this.#phase === 'head') this.#closedBeforeHead()
    else if (this.#phase === 'peek') this.#sniffed()
    if (this.#phase === 'body') this.#body?.close()
  }

  writable(): void {
    this.#upload?.resume()
  }

  closed(error: TunnelError | undefined): void {
    if (this.#phase === 'done') return
    if (this.#phase === 'body') {
      this.#giveUp()
      this.#body?.fail(error ?? new Error('the connection was closed'))
    } else if (error?.code === EVICTED) this.#unanswered('agent_busy')
    else if (this.#phase === 'head' && !isSessionLost(error)) this.#closedBeforeHead()
    else this.#unanswered('agent_gone', {}, this.#interims === 0 ? 'no-response' : undefined)
  }

  checkTimeouts(now: number): void {
    const { answerTimeoutMs } = this.#upstream
    if ((this.#phase !== 'head' && this.#phase !== 'peek') || now - this.#since <= answerTimeoutMs) return
    this.#unanswered('upstream_timeout', { seconds: Math.round(answerTimeoutMs / 1000) })
  }

  holdContent(): void {
    this.#used?.stream.pause()
  }

  moreContent(): void {
    this.#used?.stream.resume()
  }

  contentEnded(rest: Buffer | undefined): void {
    this.#complete(rest)
  }

  contentBroken(): void {
    this.#giveUp()
  }

  contentUnwanted(): void {
    this.#giveUp()
  }

  #dial(first: Buffer): void {
    this.#exchange.context.reused = undefined
    this.#upstream
      .dial(this.#exchange, first)
      .then(
        stream => this.#dialled(stream),
        error => this.#notDialled(error),
      )
      .catch((error: unknown) => {
        this.#giveUp()
        this.#reject(error)
      })
  }

  #dialled(stream: ByteStream): void {
    if (this.#phase !== 'head') {
      stream.abort()
      return
    }
    this.#exchange.context.reused = false
    const used = (this.#used = this.#upstream.pool.add(stream))
    used.use(this)
    // The first bytes may already be the whole response.
    if (this.#used === used) this.#upload?.connect(stream)
  }

  #notDialled(error: unknown): void {
    const code = this.#upstream.notDialled(error)
    if (code !== undefined) {
      // Before a second dial the request was sent on a connection that was lost.
      this.#unanswered(code, {}, this.#retried ? 'no-response' : 'not-sent')
      return
    }
    this.#giveUp()
    this.#reject(error)
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
      if (this.#upstream.viaAgent && text.startsWith(OLD_AGENT_FAILURE)) {
        this.#unreachable()
        return
      }
      const head = parseResponseHead(text, end + 2, this.#exchange.head.method)
      if (typeof head === 'string') {
        this.#invalid(head)
        return
      }
      if (text.length === chunk.length && this.#isInline(head, chunk.length - end - 4)) {
        this.#inlineBody(head, text.slice(end + 4))
        return
      }
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
    if (!text.startsWith(START.slice(0, text.length))) this.#invalid('it does not begin with a status line')
    else if (chunk.length >= MAX_RESPONSE_HEAD)
      this.#invalid(`its head has more than ${MAX_RESPONSE_HEAD} bytes`)
    else if (bareLineFeed(text) < text.length) this.#invalid('a line ends without a carriage return')
    else this.#partial = chunk
  }

  #interim(head: UpstreamHead): boolean {
    this.#since = this.#upstream.now()
    if (++this.#interims > MAX_INTERIM) {
      this.#invalid(`it sends more than ${MAX_INTERIM} interim responses`)
      return false
    }
    this.#exchange.sendInformational(head)
    return true
  }

  /** The whole response is here with nothing after it, as usual; it is short enough to be forwarded as text. */
  #isInline({ status, framing }: UpstreamHead, length: number): boolean {
    if (framing.kind !== 'length' || length !== framing.length || length === 0 || length > FIRST_LOOK)
      return false
    return status >= 200 && !(status === 502 && this.#mayBeAgentError)
  }

  /** An agent reports its failure on the connection that it was just asked to open. */
  get #mayBeAgentError(): boolean {
    return this.#upstream.viaAgent && this.#used?.fresh === true
  }

  #inlineBody(head: UpstreamHead, content: string): void {
    this.#head = head
    this.#complete(undefined)
    this.#resolve({ head, body: new TextBody(content, head.framing) })
  }

  #final(head: UpstreamHead, rest: Buffer | undefined): void {
    this.#head = head
    const { framing, status } = head
    if (status === 101) {
      this.#upgrade(head, rest)
    } else if (framing.kind === 'none' || (framing.kind === 'length' && framing.length === 0)) {
      this.#complete(rest)
      this.#resolve({ head, body: framing.kind === 'none' ? noBody : emptyBody })
    } else if (status === 502 && this.#mayBeAgentError) {
      this.#phase = 'peek'
      this.#sniffAgentError(rest ?? Buffer.alloc(0))
    } else if (framing.kind === 'length' && rest !== undefined && rest.length >= framing.length)
      this.#buffered(head, framing, rest)
    else this.#flow(head, rest)
  }

  /** The whole response came at once. Anything after it is unsolicited. */
  #buffered(head: UpstreamHead, framing: Framing & { readonly kind: 'length' }, rest: Buffer): void {
    const exact = rest.length === framing.length
    this.#complete(exact ? undefined : rest)
    this.#resolve({ head, body: bodyOf(exact ? rest : rest.subarray(0, framing.length), framing) })
  }

  #flow(head: UpstreamHead, rest: Buffer | undefined): void {
    this.#phase = 'body'
    const body = (this.#body = new IncomingBody(head.framing, this, responseTrailers))
    if (rest !== undefined) body.push(rest)
    // Until the client's side reads, a microtask from now, the rest stays where the window limits it.
    this.#used?.stream.pause()
    this.#resolve({ head, body })
  }

  #upgrade(head: UpstreamHead, rest: Buffer | undefined): void {
    const used = this.#used
    if (this.#exchange.head.upgrade === '' || used === undefined) {
      this.#invalid('it switches protocols without a request to do so')
      return
    }
    this.#phase = 'done'
    this.#used = undefined
    this.#resolve({ head, body: noBody, upgraded: used.handOver(rest) })
  }

  /** Some agents respond in place of an unreachable service. */
  #sniffAgentError(bytes: Buffer): void {
    const seen = this.#partial === undefined ? bytes : Buffer.concat([this.#partial, bytes])
    this.#partial = seen
    const text = seen.toString('latin1', 0, DIAL_FAILURE.length)
    if (text.length === DIAL_FAILURE.length || !DIAL_FAILURE.startsWith(text)) this.#sniffed()
  }

  #sniffed(): void {
    const seen = this.#partial
    this.#partial = undefined
    if (seen?.toString('latin1', 0, DIAL_FAILURE.length) === DIAL_FAILURE) this.#unreachable()
    else if (this.#head !== undefined) this.#flow(this.#head, seen?.length === 0 ? undefined : seen)
  }

  /** The response is complete: the connection can serve the next request, if nothing else is pending. */
  #complete(rest: Buffer | undefined): void {
    const used = this.#used
    this.#phase = 'done'
    this.#used = undefined
    if (used === undefined) return
    if (this.#upload?.finished === false) {
      this.#exchange.body.cancel()
      used.abort()
    } else if (rest !== undefined || this.#exchange.head.upgrade !== '') used.abort()
    else if (
      this.#head?.keepAlive === true &&
      this.#head.framing.kind !== 'until_close' &&
      this.#upstream.reusable
    )
      this.#upstream.pool.release(used)
    else used.finish()
  }

  /** No byte of a response has arrived. */
  get #silent(): boolean {
    return this.#phase === 'head' && this.#partial === undefined && this.#interims === 0
  }

  /** The connection ended before the response head. */
  #closedBeforeHead(): void {
    const used = this.#used
    if (used === undefined || !this.#silent) {
      this.#unanswered('upstream_closed')
      return
    }
    if (!this.#isRetryable(used)) {
      const code = this.#retried && this.#upstream.viaAgent ? 'upstream_unreachable' : 'upstream_closed'
      this.#unanswered(code, {}, 'no-response')
      return
    }
    this.#retried = true
    this.#used = undefined
    this.#upload?.wait()
    used.finish()
    this.#dial(Buffer.from(this.#upstream.text(this.#exchange), 'latin1'))
  }

  /**
   * An agent that cannot reach its service closes a new connection at once; a service closes one that was long idle.
   */
  #isRetryable({ fresh }: UpstreamStream): boolean {
    const { viaAgent } = this.#upstream
    return canRetry(this.#exchange.head, {
      isSent: !(fresh && viaAgent),
      isBodyRead: this.#upload?.started === true,
      hasResponse: !this.#silent,
      mayResend: true,
      attemptsLeft: this.#retried || (fresh && !viaAgent) ? 0 : 1,
    })
  }

  #clientAborted(): void {
    if (this.#phase === 'head' || this.#phase === 'peek') this.#unanswered('upstream_closed')
    else this.#giveUp()
  }

  #invalid(reason: string): void {
    this.#unanswered('upstream_invalid', { reason })
  }

  /** The agent reports that it cannot reach the service. */
  #unreachable(): void {
    this.#unanswered('upstream_unreachable', {}, this.#retried ? 'no-response' : 'not-sent')
  }

  #unanswered(code: ErrorName, values?: Record<string, string | number>, failure?: UpstreamFailure): void {
    if (this.#phase === 'body' || this.#phase === 'done') {
      this.#giveUp()
      return
    }
    this.#giveUp()
    const reply = errorReply(code, this.#exchange.head, values)
    const touched = this.#upload?.touched === true
    // An untouched body can be sent to another service.
    if (touched || failure === undefined) this.#exchange.body.cancel()
    if (failure === undefined) this.#resolve(reply)
    else this.#resolve({ ...reply, failure: touched ? 'no-response' : failure })
  }

  /** The connection is no longer needed and must not be reused. */
  #giveUp(): void {
    const used = this.#used
    this.#phase = 'done'
    this.#used = undefined
    used?.abort()
  }
}
