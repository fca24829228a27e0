import type { RenewalInfo } from '#acme/answers.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

export interface Lifetime {
  readonly notBefore: number
  readonly notAfter: number
}

/** Nothing is postponed for longer: the longest delays are those that CAs request. */
const LONGEST_WAIT = 8 * DAY

/** A time to wait for, unless a clock that was ahead has set it: then it is now. */
export const plausible = (time: number, now: number): number => (time - now > LONGEST_WAIT ? now : time)

/** Not right after issuance, however wrong a clock is: each certificate would be followed by another one. */
export function firstRenewal(certificate: Lifetime, now: number, random: () => number): number {
  const soonest = now + Math.min(DAY, (certificate.notAfter - now) / 2)
  return Math.max(renewalTime(certificate, random), soonest)
}

/** At two thirds of the certificate's lifetime, or a little before, so that not all are due at once. */
export function renewalTime({ notBefore, notAfter }: Lifetime, random: () => number): number {
  const life = notAfter - notBefore
  return notBefore + (life * 2) / 3 - random() * (life / 50)
}

/** The time within the CA's window, kept while it still fits; undefined when the window is invalid. */
export function suggestedTime(
  { start, end }: RenewalInfo,
  { notBefore, notAfter }: Lifetime,
  planned: number | undefined,
  random: () => number,
): number | undefined {
  // A window at or near the expiry is the result of a wrong clock or worse.
  if (end > notAfter - (notAfter - notBefore) / 20) return undefined
  if (planned !== undefined && planned >= start && planned <= end) return planned
  return start + random() * (end - start)
}

/** When to ask again: as the CA requests, but at least daily. */
export function nextQuestion(retryAt: number | undefined, now: number, random: () => number): number {
  const requested = Math.min(Math.max(retryAt ?? now + DAY, now + HOUR), now + DAY)
  return requested - random() * 0.1 * (requested - now)
}
