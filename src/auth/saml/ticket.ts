import type { Accepted } from '#auth/saml/assertion.ts'
import { Once } from '#auth/saml/once.ts'
import type { Seal } from '#auth/sign-in/seal.ts'
import type { Identity } from '#http/identity.ts'

/** Long enough for one redirect. */
const TICKET_MS = 60_000

/** The verified sign-in, passed from the central host to the endpoint. */
export interface Ticket {
  /** Of the assertion. */
  readonly id: string
  readonly identity: Identity
  /** Empty: the provider started the sign-in. */
  readonly request: string
  readonly authenticatedAt: number
  readonly sessionUntil?: number
}

const purpose = (placeId: string): string => `saml ticket ${placeId}`

export function sealTicket(seal: Seal, placeId: string, accepted: Accepted): string {
  const { id, identity, request = '', authenticatedAt, sessionUntil } = accepted
  const ticket: Ticket = {
    id,
    identity,
    request,
    authenticatedAt,
    ...(sessionUntil !== undefined && { sessionUntil }),
  }
  return seal.seal(purpose(placeId), ticket, TICKET_MS)
}

/** Used tickets; they outlive the configuration of their place. */
const taken = new Once()

/** Undefined when it is for another place, expired, or already used. */
export function takeTicket(seal: Seal, placeId: string, text: string): Ticket | undefined {
  const ticket = seal.open(purpose(placeId), text) as Ticket | undefined
  const isNew = ticket !== undefined && taken.use(placeId, ticket.id, Date.now() + TICKET_MS)
  return isNew ? ticket : undefined
}
