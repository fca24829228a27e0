import { clientNetwork } from '#base/client-network.ts'
import type { ErrorName } from '#base/errors.ts'
import { ResponseReader, type ResponseReceiver } from '#gateway/backends/response-reader.ts'
import { canRetry, isIdempotent } from '#gateway/backends/retry.ts'
import type { StreamPool, StreamUser, UpstreamStream } from '#gateway/backends/stream-pool.ts'
import { Upload } from '#gateway/backends/upload.ts'
import {
  type CallPhase,
  callPolicy,
  type CallProgress,
  causeOfClose,
  errorOf,
  type FailureCause,
  failureOf,
} from '#gateway/backends/upstream-policy.ts'
import { noBody } from '#http/body.ts'
import type { Exchange, Reply } from '#http/exchange.ts'
import type { UpstreamHead } from '#http/http1-response-head.ts'
import { errorReply } from '#http/pages.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { isSessionLost, type TunnelError, type TunnelErrorCode } from '#tunnel/frame.ts'
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

// A service may close an idle connection just as a request is sent; non-idempotent requests avoid that.
const FRESH_MS = 1000
/** The connection was closed in favour of another client. */
const EVICTED: TunnelErrorCode = 'streams_exhausted'

/**
 * One request to the service behind a tunnel, and its response: takes a connection, sends the request, and passes on
 * what the reader reads. What happens on errors is decided by `upstream-policy.ts`.
 */
export class UpstreamCall implements StreamUser, ResponseReceiver {
  readonly #upstream: HttpUpstream
  readonly #exchange: Exchange
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (error: unknown) => void
  readonly #upload: Upload | undefined
  readonly #reader: ResponseReader
  #done = false
  #used: UpstreamStream | undefined
  #retried = false
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
    this.#reader = new ResponseReader(this, exchange.head.method, upstream.pool.heads)
    this.#since = upstream.now()
    const { framing } = exchange.head
    if (framing.kind === 'chunked' || (framing.kind === 'length' && framing.length > 0))
      this.#upload = new Upload(
        exchange.body,
        () => (this.#since = upstream.now()),
        () => this.#fail('abandoned'),
      )
  }

  start(): void {
    const { head, clientAbort, client } = this.#exchange
    clientAbort.onAbort(() => this.#fail('abandoned'))
    const { pool, reusable } = this.#upstream
    const withinMs = isIdempotent(head) ? Infinity : FRESH_MS
    const used = reusable ? pool.take(withinMs, clientNetwork(client.ip)) : undefined
    const text = this.#upstream.text(this.#exchange)
    if (used === undefined) {
      this.#dial(Buffer.from(text, 'latin1'))
      return
    }
    this.#exchange.context.upstream.reused = true
    this.#used = used
    used.use(this)
    if (used.stream instanceof TunnelStream) used.stream.writeText(text)
    else used.stream.write(Buffer.from(text, 'latin1'))
    this.#upload?.connect(used.stream)
  }

  get viaAgent(): boolean {
    return this.#upstream.viaAgent
  }

  /** An agent reports its failure on the connection that it was just asked to open. */
  get mayBeAgentError(): boolean {
    return this.#upstream.viaAgent && this.#used?.fresh === true
  }

  data(bytes: Buffer): void {
    if (!this.#done) this.#reader.data(bytes)
  }

  end(): void {
    const action = callPolicy.end[this.#phase]
    if (action === 'fail') this.#closedBeforeHead()
    else if (action === 'decide') this.#reader.decide()
    // What was peeked at may turn out to be a body.
    if (callPolicy.end[this.#phase] === 'endBody') this.#reader.endBody()
  }

  writable(): void {
    this.#upload?.resume()
  }

  closed(error: TunnelError | undefined): void {
    const action = callPolicy.closed[this.#phase]
    if (action === 'ignore') return
    if (action === 'breakBody') {
      this.#release()
      this.#reader.breakBody(error ?? new Error('the connection was closed'))
      return
    }
    const cause = causeOfClose(this.#phase, error?.code === EVICTED, isSessionLost(error))
    if (cause === 'closed') this.#closedBeforeHead()
    else this.#fail(cause)
  }

  checkTimeouts(now: number): void {
    const { answerTimeoutMs } = this.#upstream
    if (now - this.#since <= answerTimeoutMs || callPolicy.timeout[this.#phase] === 'wait') return
    this.#fail('timeout', { seconds: Math.round(answerTimeoutMs / 1000) })
  }

  informational(head: UpstreamHead): void {
    this.#since = this.#upstream.now()
    this.#exchange.sendInformational(head)
  }

  complete(reply: Reply, rest: Buffer | undefined): void {
    this.#finish(rest)
    this.#resolve(reply)
  }

  begun(reply: Reply): void {
    // Until the client's side reads, a microtask from now, the rest stays where the window limits it.
    this.#used?.stream.pause()
    this.#resolve(reply)
  }

  switched(head: UpstreamHead, rest: Buffer | undefined): void {
    const used = this.#used
    if (this.#exchange.head.upgrade === '' || used === undefined) {
      this.invalid('it switches protocols without a request to do so')
      return
    }
    this.#done = true
    this.#used = undefined
    this.#resolve({ head, body: noBody, upgraded: used.handOver(rest) })
  }

  invalid(reason: string): void {
    this.#fail('invalid', { reason })
  }

  unreachable(): void {
    this.#fail('unreachable')
  }

  holdContent(): void {
    this.#used?.stream.pause()
  }

  moreContent(): void {
    this.#used?.stream.resume()
  }

  contentEnded(rest: Buffer | undefined): void {
    this.#finish(rest)
  }

  contentBroken(): void {
    this.#release()
  }

  contentUnwanted(): void {
    this.#release()
  }

  get #phase(): CallPhase {
    return this.#done ? 'done' : this.#reader.phase
  }

  #dial(first: Buffer): void {
    this.#exchange.context.upstream.reused = undefined
    const begun = performance.now()
    this.#upstream
      .dial(this.#exchange, first)
      .then(
        stream => this.#dialled(stream, performance.now() - begun),
        error => this.#notDialled(error),
      )
      .catch((error: unknown) => {
        this.#release()
        this.#reject(error)
      })
  }

  #dialled(stream: ByteStream, ms: number): void {
    if (this.#phase !== 'head') {
      stream.abort()
      return
    }
    this.#exchange.context.upstream.reused = false
    this.#exchange.context.upstream.dialMs = ms
    const used = (this.#used = this.#upstream.pool.add(stream))
    used.use(this)
    // The first bytes may already be the whole response.
    if (this.#used === used) this.#upload?.connect(stream)
  }

  #notDialled(error: unknown): void {
    const code = this.#upstream.notDialled(error)
    if (code !== undefined) {
      this.#respond(code, 'undialled', this.#progress())
      return
    }
    this.#release()
    this.#reject(error)
  }

  /** The connection ended before the response head. */
  #closedBeforeHead(): void {
    const used = this.#used
    if (used === undefined || !this.#isRetryable(used)) {
      this.#fail('closed')
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
      hasResponse: !this.#reader.isSilent,
      mayResend: true,
      attemptsLeft: this.#retried || (fresh && !viaAgent) ? 0 : 1,
    })
  }

  #progress(): CallProgress {
    return {
      viaAgent: this.#upstream.viaAgent,
      isRetried: this.#retried,
      isSilent: this.#reader.isSilent,
      hasInterim: this.#reader.hasInterim,
      isBodyTouched: this.#upload?.touched === true,
    }
  }

  #fail(cause: Exclude<FailureCause, 'undialled'>, values?: Record<string, string | number>): void {
    const progress = this.#progress()
    this.#respond(errorOf(cause, progress), cause, progress, values)
  }

  #respond(
    code: ErrorName,
    cause: FailureCause,
    progress: CallProgress,
    values?: Record<string, string | number>,
  ): void {
    const action = callPolicy.failure[this.#phase]
    this.#release()
    if (action === 'abort') return
    const failure = failureOf(cause, progress)
    const reply = errorReply(code, this.#exchange.head, values)
    // An untouched body can be sent to another service.
    if (progress.isBodyTouched || failure === undefined) this.#exchange.body.cancel()
    this.#resolve(failure === undefined ? reply : { ...reply, failure })
  }

  /** The response is complete: the connection can serve the next request, if nothing else is pending. */
  #finish(rest: Buffer | undefined): void {
    const used = this.#used
    this.#done = true
    this.#used = undefined
    if (used === undefined) return
    if (this.#upload?.finished === false) {
      this.#exchange.body.cancel()
      used.abort()
    } else if (rest !== undefined || this.#exchange.head.upgrade !== '') used.abort()
    else if (this.#reader.keepsAlive && this.#upstream.reusable) this.#upstream.pool.release(used)
    else used.finish()
  }

  /** The connection is no longer needed and must not be reused. */
  #release(): void {
    const used = this.#used
    this.#done = true
    this.#used = undefined
    used?.abort()
  }
}
