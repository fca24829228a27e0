import type { Authorization, Challenge, ChallengeType } from '#acme/answers.ts'
import type { Account } from '#acme/client.ts'
import type { ManagedDomain } from '#acme/domains.ts'
import { ChallengeFailed, OrderEnded } from '#acme/failure.ts'
import type { ChallengeBody } from '#acme/order-rows.ts'
import { AcmeProblem } from '#acme/problem.ts'
import { timestamp } from '#base/ids.ts'

const HOUR = 3_600_000
/** Nobody looks at a challenge for longer. */
const LONGEST_MS = 24 * HOUR

/** How names of a domain can be proven, the preferred way first. */
export const waysFor = (
  { challengeTarget }: ManagedDomain,
  visits: readonly ChallengeType[],
): readonly ChallengeType[] => (challengeTarget === undefined ? visits : ['dns-01'])

/** The challenge to answer. An authority that offers none of a kind may offer the next one. */
export function choose({ challenges }: Authorization, ways: readonly ChallengeType[]): Challenge {
  for (const way of ways) {
    const found = challenges.find(({ type }) => type === way)
    if (found !== undefined) return found
  }
  const why =
    ways.length === 0
      ? 'It has nowhere to look: this server listens neither for HTTP nor for HTTPS.'
      : `It offers no challenge of the kind ${ways.join(' or ')}.`
  throw new OrderEnded(new AcmeProblem('unknown', why))
}

export function challengeBody(
  challenge: Challenge,
  {
    authorization,
    domain,
    account,
    now,
  }: {
    readonly authorization: Authorization
    readonly domain: ManagedDomain
    readonly account: Account
    readonly now: number
  },
): ChallengeBody {
  const { type, token } = challenge
  const latest = now + LONGEST_MS
  const body = {
    type,
    name: authorization.name,
    token,
    key_authorization: `${token}.${account.key.thumbprint}`,
    expires_at: timestamp(Math.min(authorization.expiresAt ?? latest, latest)),
  }
  return type === 'dns-01' && domain.challengeTarget !== undefined
    ? { ...body, target: domain.challengeTarget }
    : body
}

/** Whether a name is proven; throws when it cannot be any more. */
export function isProven(authorization: Authorization): boolean {
  const { status, challenges, name } = authorization
  if (status === 'valid') return true
  const failed = challenges.find(challenge => challenge.status === 'invalid')
  if (failed !== undefined)
    throw new ChallengeFailed(
      failed.type,
      failed.error ?? new AcmeProblem('unknown', `${name} could not be proven.`),
    )
  if (status === 'pending') return false
  throw new OrderEnded(new AcmeProblem('unknown', `The authorization of ${name} is ${status}.`))
}

/** Is an order over, or another account's, although the authority did not say so in words? */
export const isUnknownOrder = (error: unknown): boolean =>
  error instanceof AcmeProblem &&
  (error.status === 404 || error.status === 410 || error.type === 'unauthorized')
