import { EgressError, type EgressAnswer } from '#base/egress.ts'
import { retryAfterMs } from '#base/retry-after.ts'
import { DeliveryError } from '#events/destination.ts'

interface FailureDetails {
  /** How many of the batch were accepted before. */
  readonly taken?: ReadonlySet<string>
  /** The service's own error code. */
  readonly reason?: string
  /** A more specific cause than the status. */
  readonly fault?: Fault
}

/** The cause of a failure, which decides what happens to the events. */
export type Fault =
  /** The events: they become dead letters, and the next ones follow. */
  | 'event'
  /** The configuration of the destination: events wait, in order, until it is changed or a day is over. */
  | 'settings'
  /** Temporary: they wait. */
  | 'passing'

const MAX_WAIT_MS = 24 * 3_600_000
/** The address is not allowed, or invalid. */
const unreachable = new Set<EgressError['code']>(['forbidden', 'invalid'])
// Only these mean invalid content. A wrong key, address or path (401, 403, 404, 405, a redirect) fails for every event
// alike: dropping those would lose events that can be sent once it is corrected.
const ofEvents = new Set([400, 413, 422])
const passing = new Set([408, 409, 425, 429])

/** The cause of an error response; one rule for all HTTP destinations. */
export function faultOf(status: number): Fault {
  if (ofEvents.has(status)) return 'event'
  return status >= 500 || passing.has(status) ? 'passing' : 'settings'
}

/** The same before any event was sent: an error about content is about the credentials. */
export function faultOfSignIn(status: number): Fault {
  const fault = faultOf(status)
  return fault === 'event' ? 'settings' : fault
}

/** The same for a `DeliveryError`. */
export const blame = (fault: Fault): { readonly permanent: boolean; readonly misconfigured: boolean } => ({
  permanent: fault === 'event',
  misconfigured: fault === 'settings',
})

/** The delay that a response requests. */
export const retryAfter = ({ headers }: EgressAnswer, now: number): number | undefined =>
  retryAfterMs(headers['retry-after'], now, MAX_WAIT_MS)

/** Only a plain word is reported: a response may repeat what was sent, including secrets. */
export const plainWord = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[A-Za-z][A-Za-z_]{0,63}$/.test(value) ? value : undefined

/** The error for an unexpected response. */
export function refusal(
  service: string,
  answer: EgressAnswer,
  now: number,
  { taken, reason, fault = faultOf(answer.status) }: FailureDetails = {},
): DeliveryError {
  const wait = retryAfter(answer, now)
  const why = reason === undefined ? '' : ` (${reason})`
  return new DeliveryError(`${service} responded with ${answer.status}${why}.`, {
    ...blame(fault),
    ...(taken && { taken }),
    ...(wait !== undefined && { retryAfterMs: wait }),
  })
}

/** The error for a missing response. */
export function unanswered(service: string, cause: unknown, taken?: ReadonlySet<string>): DeliveryError {
  if (cause instanceof DeliveryError) return cause
  const known = cause instanceof EgressError ? cause : undefined
  const { name = 'stopped' } = (cause ?? {}) as { name?: string }
  const what = known?.message ?? `The request ended early (${name}).`
  return new DeliveryError(`${service}: ${what}`, {
    ...blame(known !== undefined && unreachable.has(known.code) ? 'settings' : 'passing'),
    ...(taken && { taken }),
    cause,
  })
}

/** A destination whose stored configuration is unusable. */
export const unusable = (message: string): DeliveryError => new DeliveryError(message, blame('settings'))
