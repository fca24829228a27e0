type Claims = Readonly<Record<string, unknown>>

const TENANT = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
/** The directory of personal Microsoft accounts, which no administrator manages. */
const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad'

/**
 * Issuers that never send `email_verified`, and whose addresses are accepted without it. All others must send the claim
 * where addresses decide. docs/edges.md has this table with its reasons.
 */
const silent: readonly RegExp[] = [
  // One Microsoft Entra directory: its administrators manage the addresses.
  new RegExp(
    `^https://login\\.(?:microsoftonline\\.com|microsoftonline\\.us|partner\\.microsoftonline\\.cn)/(?!${PERSONAL})${TENANT}/v2\\.0$`,
  ),
  new RegExp(`^https://sts\\.windows\\.net/(?!${PERSONAL})${TENANT}/$`),
  // Active Directory Federation Services: the same for the owner's organisation.
  /^https:\/\/[^/]+\/adfs$/,
]

interface EmailClaim {
  /** Empty if the provider sends none. */
  readonly email: string
  /** Whether the address is the user's own: by the provider's claim, by the table above, or unknown. */
  readonly is: 'verified' | 'unverified' | 'unknown'
}

/** The address of one source: a flag does not apply to an address from another source. */
function addressIn(claims: Claims, issuer: string): EmailClaim | undefined {
  const { email, email_verified: flag } = claims
  if (typeof email !== 'string' || email === '') return undefined
  // Some providers send the flag as a string.
  if (flag === true || flag === 'true') return { email, is: 'verified' }
  if (flag !== undefined && flag !== null) return { email, is: 'unverified' }
  return { email, is: silent.some(each => each.test(issuer)) ? 'verified' : 'unknown' }
}

/** A user's address, from the ID token and the userinfo endpoint. */
export function addressOf(idToken: Claims, userInfo: Claims, issuer: string): EmailClaim {
  const own = addressIn(idToken, issuer)
  const more = addressIn(userInfo, issuer)
  if (own === undefined) return more ?? { email: '', is: 'unknown' }
  // The ID token may leave the flag to the other source.
  const isFlagged = (idToken['email_verified'] ?? undefined) !== undefined
  return !isFlagged && more?.email === own.email ? more : own
}
