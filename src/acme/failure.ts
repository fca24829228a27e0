import { waitAfter, waitLong } from '#acme/backoff.ts'
import { AcmeProblem } from '#acme/problem.ts'
import type { ChallengeType } from '#acme/answers.ts'
import { EgressError } from '#base/egress.ts'

/** The names do not point here: the message names the record to set. */
export class DnsNotReady extends Error {
  override readonly name = 'DnsNotReady'
}

/** DNS did not respond at all. */
export class DnsSilent extends Error {
  override readonly name = 'DnsSilent'
}

/** Validation failed. The order has ended. */
export class ChallengeFailed extends Error {
  override readonly name = 'ChallengeFailed'
  readonly type: ChallengeType
  readonly problem: AcmeProblem

  constructor(type: ChallengeType, problem: AcmeProblem) {
    super(problem.message)
    this.type = type
    this.problem = problem
  }
}

/** The order has ended for another reason, or the CA does not know it. */
export class OrderEnded extends Error {
  override readonly name = 'OrderEnded'
  readonly problem: AcmeProblem

  constructor(problem: AcmeProblem) {
    super(problem.message)
    this.problem = problem
  }
}

/** The CA is not finished; the order is checked again later. */
export class StillWaiting extends Error {
  override readonly name = 'StillWaiting'
  readonly retryAt: number

  constructor(retryAt: number) {
    super('The CA is not finished yet.')
    this.retryAt = retryAt
  }
}

/** A failure for people, with its consequence. */
interface IssuanceFailure {
  readonly error: 'dns' | 'internal'
  readonly message: string
  /** Undefined: after the usual delay. */
  readonly retryAt: number | undefined
  /** The order at the CA may still become a certificate. */
  readonly orderLives: boolean
  /** The CA was not contacted at all. */
  readonly dnsOnly?: boolean
}

const ofDns = new Set(['dns', 'caa'])
/** Only people can fix these. */
const lasting = new Set([
  'rejectedIdentifier',
  'unsupportedIdentifier',
  'userActionRequired',
  'externalAccountRequired',
  'accountDeactivated',
])

export function failureOf(error: unknown, now: number, random: () => number): IssuanceFailure {
  if (error instanceof DnsNotReady)
    return {
      error: 'dns',
      message: error.message,
      retryAt: undefined,
      orderLives: false,
      dnsOnly: true,
    }
  if (error instanceof DnsSilent)
    return {
      error: 'internal',
      message: error.message,
      retryAt: undefined,
      orderLives: true,
      dnsOnly: true,
    }
  if (error instanceof ChallengeFailed || error instanceof OrderEnded)
    return { ...problemFailure(error.problem, now, random), orderLives: false }
  if (error instanceof AcmeProblem) return problemFailure(error, now, random)
  return { error: 'internal', message: messageOf(error), retryAt: undefined, orderLives: true }
}

function problemFailure(problem: AcmeProblem, now: number, random: () => number): IssuanceFailure {
  const { type, message, retryAt } = problem
  if (type === 'invalidAnswer') return { error: 'internal', message, retryAt, orderLives: true }
  const words = type === 'rateLimited' ? 'The CA requires a delay' : 'The CA rejects the request'
  return {
    error: ofDns.has(type) ? 'dns' : 'internal',
    message: `${words} (${type}): ${message}`,
    retryAt: retryAt ?? (lasting.has(type) ? now + waitLong(random) : undefined),
    orderLives: true,
  }
}

/** Internal errors are logged, not shown. */
function messageOf(error: unknown): string {
  if (error instanceof EgressError) return `The CA cannot be reached: ${error.message}`
  return 'The certificate could not be issued; see the server log.'
}

/** When to retry after so many failures. */
export function nextTry(
  { retryAt, dnsOnly = false }: IssuanceFailure,
  { failures, shortest, now }: { failures: number; shortest: number; now: number },
  random: () => number,
): number {
  const usual = now + waitAfter({ failures, shortest, dnsOnly }, random)
  // Shortly after the given time, so that not all names return in the same second.
  return retryAt === undefined ? usual : Math.max(retryAt + random() * shortest, now + 1000)
}
