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

const purpose = (realmId: string): string => `saml ticket ${realmId}`

export function sealHandoffToken(seal: Seal, realmId: string, accepted: Accepted): string {
  const { id, identity, request = '', authenticatedAt, sessionUntil } = accepted
  const handoff: HandoffToken = {
    id,
    identity,
    request,
    authenticatedAt,
    ...(sessionUntil !== undefined && { sessionUntil }),
  }
  return seal.seal(purpose(realmId), handoff, HANDOFF_MS)
}

/** What opens handoff tokens. */
export interface HandoffTaker {
  readonly seal: Seal
  /** The used tokens of all realms. */
  readonly used: ReplayGuard
}

/** Undefined when it is for another realm, expired, or already used. */
export function takeHandoffToken(
  { seal, used }: HandoffTaker,
  realmId: string,
  text: string,
): HandoffToken | undefined {
  const handoff = seal.open(purpose(realmId), text) as HandoffToken | undefined
  const isNew = handoff !== undefined && used.claim(realmId, handoff.id, Date.now() + HANDOFF_MS)
  return isNew ? handoff : undefined
}
