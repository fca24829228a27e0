import { waitAfter, waitLong } from '#acme/backoff.ts'
import { AcmeProblem } from '#acme/problem.ts'
import type { ChallengeType } from '#acme/answers.ts'
import { EgressError } from '#base/egress.ts'

/** The names do not lead here: its message tells what to set. */
export class NotProven extends Error {
  override readonly name = 'NotProven'
}

/** DNS gave no answer at all. */
export class DnsSilent extends Error {
  override readonly name = 'DnsSilent'
}

/** The authority was not convinced. The order is over. */
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

/** The order is over for another reason, or the authority does not know it. */
export class OrderEnded extends Error {
  override readonly name = 'OrderEnded'
  readonly problem: AcmeProblem

  constructor(problem: AcmeProblem) {
    super(problem.message)
    this.problem = problem
  }
}

/** The authority is not done yet; the order is looked at again later. */
export class StillWaiting extends Error {
  override readonly name = 'StillWaiting'
  readonly retryAt: number

  constructor(retryAt: number) {
    super('The authority is not done yet.')
    this.retryAt = retryAt
  }
}

/** What went wrong, as people are told, and what comes of it. */
export interface Failure {
  readonly error: 'dns' | 'internal'
  readonly message: string
  /** Undefined: after the usual wait. */
  readonly retryAt: number | undefined
  /** The order at the authority may still become a certificate. */
  readonly orderLives: boolean
  /** The authority was not asked at all. */
  readonly onlyLooked?: boolean
}

const ofDns = new Set(['dns', 'caa'])
/** Only people can change these. */
const lasting = new Set([
  'rejectedIdentifier',
  'unsupportedIdentifier',
  'userActionRequired',
  'externalAccountRequired',
  'accountDeactivated',
])

export function failureOf(error: unknown, now: number, random: () => number): Failure {
  if (error instanceof NotProven)
    return {
      error: 'dns',
      message: error.message,
      retryAt: undefined,
      orderLives: false,
      onlyLooked: true,
    }
  if (error instanceof DnsSilent)
    return {
      error: 'internal',
      message: error.message,
      retryAt: undefined,
      orderLives: true,
      onlyLooked: true,
    }
  if (error instanceof ChallengeFailed || error instanceof OrderEnded)
    return { ...problemFailure(error.problem, now, random), orderLives: false }
  if (error instanceof AcmeProblem) return problemFailure(error, now, random)
  return { error: 'internal', message: messageOf(error), retryAt: undefined, orderLives: true }
}

function problemFailure(problem: AcmeProblem, now: number, random: () => number): Failure {
  const { type, message, retryAt } = problem
  if (type === 'invalidAnswer') return { error: 'internal', message, retryAt, orderLives: true }
  const words = type === 'rateLimited' ? 'The authority asks to wait' : 'The authority refuses'
  return {
    error: ofDns.has(type) ? 'dns' : 'internal',
    message: `${words} (${type}): ${message}`,
    retryAt: retryAt ?? (lasting.has(type) ? now + waitLong(random) : undefined),
    orderLives: true,
  }
}

/** Errors of ours are logged, not shown. */
function messageOf(error: unknown): string {
  if (error instanceof EgressError) return `The authority cannot be reached: ${error.message}`
  return 'The certificate could not be issued; the log of the server tells why.'
}

/** When to try again after so many failures. */
export function nextTry(
  { retryAt, onlyLooked = false }: Failure,
  { failures, shortest, now }: { failures: number; shortest: number; now: number },
  random: () => number,
): number {
  const usual = now + waitAfter({ failures, shortest, onlyLooked }, random)
  // A moment after the one that was named, so that not all names come back in that very second.
  return retryAt === undefined ? usual : Math.max(retryAt + random() * shortest, now + 1000)
}
