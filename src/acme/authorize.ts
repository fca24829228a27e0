import type { Authorization, Challenge, ChallengeType } from '#acme/answers.ts'
import type { AcmeAccount } from '#acme/client.ts'
import type { ManagedDomain } from '#acme/domains.ts'
import { ChallengeFailed, OrderEnded } from '#acme/failure.ts'
import type { ChallengeBody } from '#acme/order-rows.ts'
import { AcmeProblem } from '#acme/problem.ts'
import { timestamp } from '#base/ids.ts'

const HOUR = 3_600_000
/** No challenge is validated for longer. */
const LONGEST_MS = 24 * HOUR

/** The challenge types for a domain, in order of preference. */
export const challengeTypesFor = (
  { challengeTarget }: ManagedDomain,
  available: readonly ChallengeType[],
): readonly ChallengeType[] => (challengeTarget === undefined ? available : ['dns-01'])

/** The challenge to respond to. A CA without one type may offer the next one. */
export function choose({ challenges }: Authorization, types: readonly ChallengeType[]): Challenge {
  for (const wanted of types) {
    const found = challenges.find(({ type }) => type === wanted)
    if (found !== undefined) return found
  }
  const why =
    types.length === 0
      ? 'It cannot validate: this server has neither an HTTP nor an HTTPS listener.'
      : `It offers no challenge of the kind ${types.join(' or ')}.`
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
    readonly account: AcmeAccount
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

/** Whether a name is validated; throws when that is no longer possible. */
export function isValidated(authorization: Authorization): boolean {
  const { status, challenges, name } = authorization
  if (status === 'valid') return true
  const failed = challenges.find(challenge => challenge.status === 'invalid')
  if (failed !== undefined)
    throw new ChallengeFailed(
      failed.type,
      failed.error ?? new AcmeProblem('unknown', `${name} could not be validated.`),
    )
  if (status === 'pending') return false
  throw new OrderEnded(new AcmeProblem('unknown', `The authorization of ${name} is ${status}.`))
}

/** Whether an order has ended, or belongs to another account, although the CA did not say so explicitly. */
export const isUnknownOrder = (error: unknown): boolean =>
  error instanceof AcmeProblem &&
  (error.status === 404 || error.status === 410 || error.type === 'unauthorized')
