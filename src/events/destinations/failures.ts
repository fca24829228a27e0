import { EgressError, type EgressAnswer } from '#base/egress.ts'
import { DeliveryError } from '#events/destination.ts'

export interface Told {
  /** Of the batch, those that were taken before. */
  readonly taken?: ReadonlySet<string>
  /** The service's own name for what is wrong. */
  readonly reason?: string
  /** Where more is known of it than the status tells. */
  readonly fault?: Fault
}

/** What is at fault, which decides what becomes of the events. */
export type Fault =
  /** The events: they are given up, and those behind them go on. */
  | 'event'
  /** How the destination is set: they wait, in order, until it is changed or a day is over. */
  | 'settings'
  /** Nothing that anybody has to do something about: they wait. */
  | 'passing'

const MAX_WAIT_MS = 24 * 3_600_000
/** The address is not allowed, or is not one. */
const unreachable = new Set<EgressError['code']>(['forbidden', 'invalid'])
// Only these say that the content is wrong. A wrong key, address or path (401, 403, 404, 405, a redirect) is refused
// for every event alike: giving those up would lose in a moment what is sent well once that is mended.
const ofEvents = new Set([400, 413, 422])
const passing = new Set([408, 409, 425, 429])

/** What an answer says is at fault; the one rule for all destinations that speak HTTP. */
export function faultOf(status: number): Fault {
  if (ofEvents.has(status)) return 'event'
  return status >= 500 || passing.has(status) ? 'passing' : 'settings'
}

/** The same where no event was sent yet: what is told of the content is of the credentials. */
export function faultOfSignIn(status: number): Fault {
  const fault = faultOf(status)
  return fault === 'event' ? 'settings' : fault
}

/** The same for a `DeliveryError`. */
export const blame = (fault: Fault): { readonly permanent: boolean; readonly misconfigured: boolean } => ({
  permanent: fault === 'event',
  misconfigured: fault === 'settings',
})

/** When an answer asks to be called again: seconds or a date. */
export function retryAfter({ headers }: EgressAnswer, now: number): number | undefined {
  const text = headers['retry-after']
  if (text === undefined) return undefined
  const wait = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), MAX_WAIT_MS)
}

/** Only a plain word is told on: the content of an answer may repeat what was sent, secrets included. */
export const plainWord = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[A-Za-z][A-Za-z_]{0,63}$/.test(value) ? value : undefined

/** What an answer other than the wanted one means. */
export function refusal(
  service: string,
  answer: EgressAnswer,
  now: number,
  { taken, reason, fault = faultOf(answer.status) }: Told = {},
): DeliveryError {
  const wait = retryAfter(answer, now)
  const why = reason === undefined ? '' : ` (${reason})`
  return new DeliveryError(`${service} answered ${answer.status}${why}.`, {
    ...blame(fault),
    ...(taken && { taken }),
    ...(wait !== undefined && { retryAfterMs: wait }),
  })
}

/** What it means that there is no answer. */
export function unanswered(service: string, cause: unknown, taken?: ReadonlySet<string>): DeliveryError {
  if (cause instanceof DeliveryError) return cause
  const known = cause instanceof EgressError ? cause : undefined
  const { name = 'stopped' } = (cause ?? {}) as { name?: string }
  const what = known?.message ?? `The call ended early (${name}).`
  return new DeliveryError(`${service}: ${what}`, {
    ...blame(known !== undefined && unreachable.has(known.code) ? 'settings' : 'passing'),
    ...(taken && { taken }),
    cause,
  })
}

/** A destination that cannot be built from what is stored. */
export const unusable = (message: string): DeliveryError => new DeliveryError(message, blame('settings'))
