import type { Egress } from '#base/egress.ts'
import type { Log } from '#base/log.ts'

/** An event as sent. */
export interface OutgoingEvent {
  readonly id: string
  readonly type: string
  /** RFC 3339. */
  readonly at: string
  /** The JSON envelope. */
  readonly body: string
  /** The endpoint of a traffic event. */
  readonly endpoint?: string
}

/** Why a batch was not accepted. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  /** True: the events are invalid, so retrying is useless. */
  readonly permanent: boolean
  /** True: the destination is misconfigured. It is retried, so that events wait for a correction. */
  readonly misconfigured: boolean
  /** The destination's Retry-After. */
  readonly retryAfterMs: number | undefined
  /** How many of the batch were accepted before it failed. */
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
  /** Resolves when the whole batch was accepted; rejects with a `DeliveryError`. */
  send(batch: readonly OutgoingEvent[], signal: AbortSignal): Promise<void>
  close(): void
}

export interface DestinationParts {
  readonly egress: Egress
  readonly dataDir: string
  readonly log: Log
  readonly now: () => number
  /** Replacements of the public service URLs. */
  readonly endpoints: Readonly<Record<string, string>>
}
