import type { Egress } from '#base/egress.ts'
import type { Log } from '#base/log.ts'

/** An event as it leaves. */
export interface OutgoingEvent {
  readonly id: string
  readonly type: string
  /** RFC 3339. */
  readonly at: string
  /** The JSON envelope. */
  readonly body: string
  /** Whose traffic it is, of events of traffic. */
  readonly endpoint?: string
}

/** Why a batch was not taken. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  /** True: it is about the events themselves, so that trying them again is in vain. */
  readonly permanent: boolean
  /** True: it is about how the destination is set. It is tried again, as events wait for that to be mended. */
  readonly misconfigured: boolean
  /** When the destination asks to be tried again. */
  readonly retryAfterMs: number | undefined
  /** Of the batch, those that were taken before it failed. */
  readonly taken: ReadonlySet<string>

  constructor(
    message: string,
    options: {
      permanent?: boolean
      misconfigured?: boolean
      retryAfterMs?: number
      taken?: ReadonlySet<string>
      cause?: unknown
    } = {},
  ) {
    super(message, { cause: options.cause })
    this.permanent = options.permanent ?? false
    this.misconfigured = options.misconfigured ?? false
    this.retryAfterMs = options.retryAfterMs
    this.taken = options.taken ?? new Set()
  }
}

/** A place that events are sent to. */
export interface Destination {
  /** At most so many events, and bytes of their bodies, in one call of `send`. */
  readonly maxEvents: number
  readonly maxBytes: number
  /** Resolves when all of the batch was taken; rejects with a `DeliveryError`. */
  send(batch: readonly OutgoingEvent[], signal: AbortSignal): Promise<void>
  close(): void
}

export interface DestinationParts {
  readonly egress: Egress
  readonly dataDir: string
  readonly log: Log
  readonly now: () => number
  /** Other addresses of the services that are called, where an operator has such. */
  readonly endpoints: Readonly<Record<string, string>>
}
