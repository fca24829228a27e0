import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { fullJitter } from '#base/backoff.ts'
import { inBackground } from '#base/background.ts'
import { EgressError, type Egress, type EgressAnswer } from '#base/egress.ts'
import type { Log } from '#base/log.ts'
import type { Counter } from '#base/metrics.ts'
import { attribute, rejectedIn } from '#base/otlp.ts'
import type { Secret } from '#base/secrets.ts'
import type { Span } from '#telemetry/tracing/request-span.ts'

interface ExporterOptions {
  readonly url: string
  readonly headers: ReadonlyMap<string, Secret>
  readonly egress: Egress
  /** The resource: service name, version, and process. */
  readonly service: { readonly name: string; readonly version: string; readonly node: string }
  readonly sent: Counter
  readonly dropped: Counter
  readonly log: Log
  readonly timings?: Partial<ExporterTimings>
}

export interface ExporterTimings {
  /** How long to gather after a first span. */
  readonly gatherMs: number
  /** The maximum first delay after a failure; it doubles from there. */
  readonly firstWaitMs: number
  readonly closeMs: number
}

const defaultTimings: ExporterTimings = { gatherMs: 5000, firstWaitMs: 1000, closeMs: 2000 }
const MAX_WAITING = 2048
const MAX_BATCH = 512
const MAX_TRIES = 6
const MAX_WAIT_MS = 30_000
const TIMEOUT_MS = 10_000
const MAX_ANSWER = 65_536
/** The responses after which OTLP allows a retry. */
const passing = new Set([429, 502, 503, 504])
const lasting = new Set<EgressError['code']>(['forbidden', 'invalid'])

interface Failed {
  readonly reason: string
  /** The collector's Retry-After; undefined: retrying is useless. */
  readonly waitMs: number | undefined
}

/** Sends spans to a collector in the background. Spans beyond the buffer are dropped and counted. */
export class SpanExporter {
  readonly #options: ExporterOptions
  readonly #timings: ExporterTimings
  readonly #common: { readonly resource: object; readonly scope: object }
  readonly #closing = new AbortController()
  #waiting: Span[] = []
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #failures = 0
  #isClosed = false

  constructor(options: ExporterOptions) {
    const { name, version, node } = options.service
    this.#options = options
    this.#timings = { ...defaultTimings, ...options.timings }
    const attributes = [
      attribute('service.name', name),
      attribute('service.version', version),
      attribute('service.instance.id', node),
      attribute('host.name', hostname()),
    ]
    this.#common = { resource: { attributes }, scope: { name: 'adit.gateway', version } }
  }

  readonly put = (span: Span): void => {
    if (this.#waiting.length >= MAX_WAITING || this.#isClosed) {
      this.#options.dropped.add()
      return
    }
    this.#waiting.push(span)
    if (this.#running !== undefined) return
    if (this.#waiting.length >= MAX_BATCH) this.#start()
    else this.#timer ??= setTimeout(() => this.#start(), this.#timings.gatherMs).unref()
  }

  /** Sends what is buffered, as far as possible in a moment. */
  async close(): Promise<void> {
    this.#closing.abort()
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, this.#timings.closeMs)
    await Promise.race([this.#flush(), late])
    clearTimeout(timer)
    this.#isClosed = true
    this.#drop(this.#waiting.length)
    this.#waiting = []
  }

  async #flush(): Promise<void> {
    do {
      this.#start()
      await this.#running
    } while (this.#waiting.length > 0 && !this.#isClosed)
  }

  #start(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const { log } = this.#options
    this.#running ??= inBackground({ task: 'tracing', log }, () => this.#sendAll()).finally(() => {
      this.#running = undefined
      // Spans that arrived during the last batch are gathered too.
      if (this.#waiting.length > 0 && !this.#isClosed)
        this.#timer = setTimeout(() => this.#start(), this.#timings.gatherMs).unref()
    })
  }

  async #sendAll(): Promise<void> {
    do {
      await this.#send(this.#waiting.splice(0, MAX_BATCH))
    } while (this.#isEnough && !this.#isClosed)
  }

  /** A partial batch is sent only when nothing more is expected. */
  get #isEnough(): boolean {
    return this.#waiting.length >= (this.#closing.signal.aborted ? 1 : MAX_BATCH)
  }

  async #send(batch: readonly Span[]): Promise<void> {
    if (batch.length === 0) return
    const { resource, scope } = this.#common
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans: batch }] }] })
    for (let tries = 1; ; tries++) {
      const failed = await this.#post(body, batch.length)
      this.#logState(failed)
      if (failed === undefined) return
      const isOver = failed.waitMs === undefined || tries >= MAX_TRIES || this.#closing.signal.aborted
      if (isOver) {
        this.#drop(batch.length)
        return
      }
      await this.#wait(failed.waitMs ?? 0)
    }
  }

  async #post(body: string, count: number): Promise<Failed | undefined> {
    const { url, headers, egress } = this.#options
    const given = [...headers].map(([name, value]) => [name, value.reveal()] as const)
    const timeoutMs = this.#closing.signal.aborted ? this.#timings.closeMs : TIMEOUT_MS
    try {
      const answer = await egress.request(url, {
        method: 'POST',
        headers: { ...Object.fromEntries(given), 'content-type': 'application/json' },
        body,
        timeoutMs,
        redirects: 0,
        maxBytes: MAX_ANSWER,
      })
      if (answer.status < 200 || answer.status > 299) return refused(answer)
      this.#taken(answer, count)
      return undefined
    } catch (error) {
      if (!(error instanceof EgressError))
        return { reason: `The request cannot be made (${(error as Error).name}).`, waitMs: undefined }
      return { reason: error.message, waitMs: lasting.has(error.code) ? undefined : 0 }
    }
  }

  /** The collector may accept only part of a batch; the rest must not be sent again. */
  #taken({ body }: EgressAnswer, count: number): void {
    const rejected = Math.min(count, Math.max(0, rejectedIn(body.toString(), 'rejectedSpans') || 0))
    this.#options.sent.add(count - rejected)
    this.#drop(rejected)
  }

  #drop(count: number): void {
    if (count > 0) this.#options.dropped.add(count)
  }

  /** Logged once when it starts to fail, and once when it works again. */
  #logState(failed: Failed | undefined): void {
    const { log } = this.#options
    if (failed !== undefined) {
      if (this.#failures++ === 0) log.warn({ reason: failed.reason }, 'traces cannot be sent')
    } else if (this.#failures > 0) {
      this.#failures = 0
      log.info('traces can be sent again')
    }
  }

  async #wait(askedMs: number): Promise<void> {
    const bounds = { baseMs: this.#timings.firstWaitMs, capMs: MAX_WAIT_MS }
    const { signal } = this.#closing
    const ms = Math.max(askedMs, fullJitter(this.#failures - 1, bounds))
    await wait(ms, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

function refused({ status, headers }: EgressAnswer): Failed {
  const seconds = Number(/^\d{1,6}$/.exec(headers['retry-after'] ?? '')?.[0] ?? 0)
  const waitMs = passing.has(status) ? Math.min(seconds * 1000, MAX_WAIT_MS) : undefined
  return { reason: `The collector responded with ${status}.`, waitMs }
}
