import * as oauth from 'oauth4webapi'
import { EgressError } from '#base/egress.ts'
import { Problem } from '#base/errors.ts'

const CODE = /^[a-z_]{1,64}$/

const verdicts: Readonly<Record<string, string>> = {
  [oauth.JWT_TIMESTAMP_CHECK]: 'its ID token is not valid at this time',
  [oauth.JWT_CLAIM_COMPARISON]: 'its ID token is for another client, another sign-in or from another issuer',
  [oauth.KEY_SELECTION]: 'it does not have the key that the ID token was signed with',
  [oauth.JSON_ATTRIBUTE_COMPARISON]: 'it is another issuer than expected',
}

/** The reason for a failed sign-in, for the client. It never contains the text of a response. */
export function oidcProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof oauth.AuthorizationResponseError) return refused(error.error)
  if (error instanceof oauth.ResponseBodyError) {
    if (error.error === 'invalid_grant') return refused(error.error)
    return unusable(`it responded "${codeOf(error.error)}"`)
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError)
    return unusable('it does not accept the client id and secret')
  if (error instanceof EgressError) return unusable(reasons[error.code])
  if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError) {
    const verdict = verdicts[error.code ?? '']
    return new Problem('sign_in_unverified', {
      reason: verdict ?? 'its response is malformed',
    })
  }
  return unusable('it could not be reached')
}

const reasons: Readonly<Record<EgressError['code'], string>> = {
  forbidden: 'its address is in a network that this gateway may not connect to',
  unresolved: 'its name has no address',
  unreachable: 'it cannot be reached',
  untrusted: 'its certificate is not trusted',
  timeout: 'it did not respond in time',
  too_large: 'its response is too large',
  invalid: 'its response is invalid',
}

const refused = (code: string): Problem =>
  new Problem('sign_in_refused', { reason: `it says "${codeOf(code)}"` })

const unusable = (reason: string): Problem => new Problem('sign_in_provider', { reason })

/** Only standard codes: our pages do not quote external text. */
const codeOf = (code: string): string => (CODE.test(code) ? code : 'error')
