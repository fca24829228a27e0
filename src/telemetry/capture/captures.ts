import type { Log } from '#base/log.ts'
import type { Exchange, Reply } from '#http/exchange.ts'
import { isBare } from '#http/http1-serialize.ts'
import { TextBody } from '#http/http1-whole.ts'
import type { RequestContext, RouteInfo } from '#http/request-context.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { CaptureRecord } from '#contract/request-history.ts'
import type { Records } from '#registry/records/records.ts'
import { CaptureFiles } from '#telemetry/capture/capture-files.ts'
import { CaptureFolder } from '#telemetry/capture/capture-folder.ts'
import { CaptureRules } from '#telemetry/capture/capture-rules.ts'
import { CapturedRequests } from '#telemetry/capture/captured-requests.ts'
import { CapturedRequest, isBodiless } from '#telemetry/capture/captured-request.ts'
import { maskedNames, shownCapture } from '#telemetry/capture/shown-capture.ts'
import { TappedBody } from '#telemetry/capture/tapped-body.ts'
import type { KeptRequest } from '#telemetry/request-log/ring.ts'

type CaptureSettings = Pick<
  GatewayInfo,
  | 'node'
  | 'workers'
  | 'capture_dir'
  | 'traffic_full_capture'
  | 'capture_memory_mib'
  | 'capture_body_kib'
  | 'capture_masking'
  | 'capture_masked_headers'
>

/** Records headers and bodies of the requests for which it is on. */
export class Captures {
  /** False: no request is captured, and none needs to be looked at. */
  isActive = false
  readonly #all: boolean
  readonly #rules: CaptureRules
  readonly #store: CapturedRequests
  readonly #masked: ReadonlySet<string>
  /** Undefined: a restart loses all. */
  readonly #files: CaptureFiles | undefined

  constructor(settings: CaptureSettings, records: Records, log: Log) {
    this.#all = settings.traffic_full_capture
    this.#masked = maskedNames(settings)
    const maxBytes = settings.capture_memory_mib * 1_048_576
    const limits = { maxBytes, maxBodyBytes: settings.capture_body_kib * 1024 }
    const evicted = (id: string, fileBytes: number): void => this.#files?.evicted(id, fileBytes)
    this.#store = new CapturedRequests(limits, settings.capture_dir === undefined ? undefined : evicted)
    this.#files =
      settings.capture_dir === undefined
        ? undefined
        : new CaptureFiles({
            folder: new CaptureFolder(settings.capture_dir, settings),
            log,
            masked: this.#masked,
            maxBytes,
            restore: captured => this.#store.restore(captured),
            saved: (captured, bytes) => this.#store.saved(captured, bytes),
          })
    this.#rules = new CaptureRules(records, isEmpty => (this.isActive = this.#all || !isEmpty))
  }

  async close(): Promise<void> {
    this.#rules.close()
    await this.#files?.close()
  }

  /** How many could not be saved for a restart. */
  get unsaved(): number {
    return this.#files?.unsaved ?? 0
  }

  /** Memory that is held. */
  get bytes(): number {
    return this.#store.bytes
  }

  has(id: string): boolean {
    return this.#store.has(id)
  }

  get(id: string): CapturedRequest | undefined {
    return this.#store.get(id)
  }

  /** The entries of the request log that are saved with captures, in no order. */
  records(): Iterable<KeptRequest> {
    return this.#store.records()
  }

  /** In the form of the management API. */
  find(id: string): CaptureRecord | undefined {
    const captured = this.#store.get(id)
    return captured && { ownerId: captured.ownerId, capture: shownCapture(captured, this.#masked) }
  }

  /** Captures a request, whether a rule selects it or not. */
  begin({ client, head, context }: Exchange, ownerId: string, replayOf?: string): CapturedRequest {
    const captured = this.#store.begin({ id: context.id, client, head, ownerId, replayOf })
    context.telemetry.captured = captured
    return captured
  }

  /** A request at its route, and what to forward of it: its body is recorded on its way if the request is selected. */
  asked(exchange: Exchange, route: RouteInfo): Exchange {
    const { head, body } = exchange
    const captured = this.#capturedAt(exchange, route)
    if (captured === undefined) return exchange
    this.#store.assign(captured, route.ownerId ?? '')
    if (isBodiless(head)) return exchange
    return { ...exchange, body: new TappedBody(body, this.#store, captured, 'request') }
  }

  /** What is sent as the response: its body is recorded on its way. */
  replied(context: RequestContext, reply: Reply): Reply {
    const captured = capturedIn(context)
    if (captured === undefined) return reply
    const { head, body, upgraded } = reply
    const store = this.#store
    store.respond(captured, head)
    if (body instanceof TextBody) store.addText(captured, 'response', body.text)
    else if (isBare(captured.head.method, head.status) || isBodiless(head) || upgraded !== undefined)
      captured.response.end()
    else if (body.whole === undefined)
      return { ...reply, body: new TappedBody(body, store, captured, 'response') }
    else {
      store.add(captured, 'response', body.whole)
      captured.response.end()
    }
    return reply
  }

  /** `record` reads the entry of the request log, which only a file needs. */
  ended(context: RequestContext, isComplete: boolean, record: () => KeptRequest | undefined): void {
    const captured = capturedIn(context)
    if (captured === undefined) return
    captured.isComplete = isComplete
    if (this.#files !== undefined) captured.record = record()
    this.#store.end(captured)
    this.#files?.save(captured)
  }

  /** Nothing was sent. */
  drop(context: RequestContext): void {
    const captured = capturedIn(context)
    if (captured !== undefined) this.#store.drop(captured)
  }

  /** A request may pass here again, to another service, after the first one failed. */
  #capturedAt(exchange: Exchange, route: RouteInfo): CapturedRequest | undefined {
    const { context, head } = exchange
    if (context.captured !== undefined) return capturedIn(context)
    const isSelected = this.#all || route.capturedBy !== undefined || this.#rules.includes(head.host, route)
    return isSelected ? this.begin(exchange, route.ownerId ?? '') : undefined
  }
}

/** Undefined once it was evicted. */
const capturedIn = ({ captured }: RequestContext): CapturedRequest | undefined =>
  captured instanceof CapturedRequest && captured.isUnderWay ? captured : undefined
