import type { Accepted } from '#auth/saml/assertion.ts'
import type { ReplayGuard } from '#auth/saml/replay-guard.ts'
import type { Seal } from '#auth/sign-in/seal.ts'
import type { UserIdentity } from '#http/identity.ts'

/** Long enough for one redirect. */
const HANDOFF_MS = 60_000

/** The verified sign-in, passed from the central host to the endpoint. */
export interface HandoffToken {
  /** Of the assertion. */
  readonly id: string
  readonly identity: UserIdentity
  /** Empty: the provider started the sign-in. */
  readonly request: string
  readonly authenticatedAt: number
  readonly sessionUntil?: number
}

const purpose = (placeId: string): string => `saml ticket ${placeId}`

export function sealHandoffToken(seal: Seal, placeId: string, accepted: Accepted): string {
  const { id, identity, request = '', authenticatedAt, sessionUntil } = accepted
  const handoff: HandoffToken = {
    id,
    identity,
    request,
    authenticatedAt,
    ...(sessionUntil !== undefined && { sessionUntil }),
  }
  return seal.seal(purpose(placeId), handoff, HANDOFF_MS)
}

/** What opens handoff tokens. */
export interface HandoffTaker {
  readonly seal: Seal
  /** The used tokens of all places. */
  readonly used: ReplayGuard
}

/** Undefined when it is for another place, expired, or already used. */
export function takeHandoffToken(
  { seal, used }: HandoffTaker,
  placeId: string,
  text: string,
): HandoffToken | undefined {
  const handoff = seal.open(purpose(placeId), text) as HandoffToken | undefined
  const isNew = handoff !== undefined && used.claim(placeId, handoff.id, Date.now() + HANDOFF_MS)
  return isNew ? handoff : undefined
}
