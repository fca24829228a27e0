import * as oauth from 'oauth4webapi'
import { EgressError } from '#base/egress.ts'
import { Problem } from '#base/errors.ts'

const CODE = /^[a-z_]{1,64}$/

const verdicts: Readonly<Record<string, string>> = {
  [oauth.JWT_TIMESTAMP_CHECK]: 'its ID token is not valid at this time',
  [oauth.JWT_CLAIM_COMPARISON]: 'its ID token is for another client, another sign-in or from another issuer',
  [oauth.KEY_SELECTION]: 'it does not have the key that the ID token was signed with',
  [oauth.JSON_ATTRIBUTE_COMPARISON]: 'it is another issuer than the one asked',
}

/** Of a sign-in that came to nothing: what a visitor is told. The text of an answer is never part of it. */
export function oidcProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof oauth.AuthorizationResponseError) return refused(error.error)
  if (error instanceof oauth.ResponseBodyError) {
    if (error.error === 'invalid_grant') return refused(error.error)
    return unusable(`it answered "${codeOf(error.error)}"`)
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError)
    return unusable('it does not accept the client id and secret')
  if (error instanceof EgressError) return unusable(reasons[error.code])
  if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError) {
    const verdict = verdicts[error.code ?? '']
    return new Problem('sign_in_unverified', {
      reason: verdict ?? 'its answer does not have the form it must have',
    })
  }
  return unusable('it could not be asked')
}

const reasons: Readonly<Record<EgressError['code'], string>> = {
  forbidden: 'its address is in a network that this gateway may not call',
  unresolved: 'its name has no address',
  unreachable: 'it cannot be reached',
  untrusted: 'its certificate is not trusted',
  timeout: 'it takes too long to answer',
  too_large: 'it answers too much',
  invalid: 'it answers what cannot be used',
}

const refused = (code: string): Problem =>
  new Problem('sign_in_refused', { reason: `it says "${codeOf(code)}"` })

const unusable = (reason: string): Problem => new Problem('sign_in_provider', { reason })

/** Codes of the standards only: pages of ours do not carry sentences of others. */
const codeOf = (code: string): string => (CODE.test(code) ? code : 'error')
