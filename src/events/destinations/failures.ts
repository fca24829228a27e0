import { EgressError, type EgressAnswer } from '#base/egress.ts'
import { DeliveryError } from '#events/destination.ts'

export interface Told {
  /** Of the batch, those that were taken before. */
  readonly taken?: ReadonlySet<string>
  /** The service's own name for what is wrong. */
  readonly reason?: string
}

const MAX_WAIT_MS = 24 * 3_600_000
/** Trying again cannot help: the address is not allowed, or is not one. */
const lasting = new Set<EgressError['code']>(['forbidden', 'invalid'])
const passing = new Set([408, 425, 429])

/** True for an answer that is worth trying again. */
export const isPassing = (status: number): boolean => status >= 500 || passing.has(status)

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
  { taken, reason }: Told = {},
): DeliveryError {
  const wait = retryAfter(answer, now)
  const why = reason === undefined ? '' : ` (${reason})`
  return new DeliveryError(`${service} answered ${answer.status}${why}.`, {
    permanent: !isPassing(answer.status),
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
    permanent: known !== undefined && lasting.has(known.code),
    ...(taken && { taken }),
    cause,
  })
}

/** A destination that cannot be built from what is stored. */
export const unusable = (message: string): DeliveryError => new DeliveryError(message, { permanent: true })
