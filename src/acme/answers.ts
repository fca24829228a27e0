import { ResponseFields, address } from '#acme/fields.ts'
import { invalidAnswer, problemOf, type AcmeProblem } from '#acme/problem.ts'

const challengeTypes = ['http-01', 'tls-alpn-01', 'dns-01'] as const
export type ChallengeType = (typeof challengeTypes)[number]

/** The endpoints of a CA (RFC 8555 §7.1.1, RFC 9773 §3). */
export interface AcmeDirectory {
  readonly newNonce: string
  readonly newAccount: string
  readonly newOrder: string
  readonly keyChange: string | undefined
  readonly renewalInfo: string | undefined
}

export interface Order {
  readonly url: string
  readonly status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
  readonly authorizations: readonly string[]
  readonly finalize: string
  readonly certificate: string | undefined
  readonly error: AcmeProblem | undefined
  readonly retryAt: number | undefined
}

export interface Challenge {
  readonly type: ChallengeType
  readonly url: string
  readonly token: string
  readonly status: 'pending' | 'processing' | 'valid' | 'invalid'
  readonly error: AcmeProblem | undefined
}

export interface Authorization {
  /** The name to validate, without the "*." of a wildcard. */
  readonly name: string
  readonly status: 'pending' | 'valid' | 'invalid' | 'deactivated' | 'expired' | 'revoked'
  readonly expiresAt: number | undefined
  /** Those of the kinds that we know. */
  readonly challenges: readonly Challenge[]
  readonly retryAt: number | undefined
}

/** When to renew (RFC 9773 §4.2). */
export interface RenewalInfo {
  readonly start: number
  readonly end: number
  readonly retryAt: number | undefined
}

const MAX_NAMES = 100
const MAX_CHALLENGES = 20
/** At least 128 bits in base64url (RFC 8555 §8.1); it becomes part of a path. */
const TOKEN = /^[A-Za-z0-9_-]{16,256}$/
const NAME = /^[a-z0-9.-]{1,253}$/i

export function readDirectory(value: unknown, scheme: string): AcmeDirectory {
  const fields = new ResponseFields(value, 'a directory')
  return {
    newNonce: fields.url('newNonce', scheme),
    newAccount: fields.url('newAccount', scheme),
    newOrder: fields.url('newOrder', scheme),
    keyChange: fields.maybeUrl('keyChange', scheme),
    renewalInfo: fields.maybeUrl('renewalInfo', scheme),
  }
}

export interface ResponseMeta {
  readonly scheme: string
  readonly retryAt: number | undefined
}

export function readOrder(value: unknown, url: string, { scheme, retryAt }: ResponseMeta): Order {
  const fields = new ResponseFields(value, 'an order')
  const problem = fields.raw('error')
  return {
    url,
    status: fields.oneOf('status', ['pending', 'ready', 'processing', 'valid', 'invalid']),
    authorizations: fields
      .list('authorizations', MAX_NAMES)
      .map(
        item => address(item, scheme) ?? invalidAnswer('an order without addresses of its authorizations'),
      ),
    finalize: fields.url('finalize', scheme),
    certificate: fields.maybeUrl('certificate', scheme),
    error: problem === undefined ? undefined : problemOf(problem),
    retryAt,
  }
}

export function readAuthorization(value: unknown, { scheme, retryAt }: ResponseMeta): Authorization {
  const fields = new ResponseFields(value, 'an authorization')
  const status = ['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked'] as const
  const known = fields
    .list('challenges', MAX_CHALLENGES)
    .flatMap(item => readChallenge(new ResponseFields(item, 'a challenge'), scheme) ?? [])
  return {
    name: fields.inner('identifier').text('value', NAME).toLowerCase(),
    status: fields.oneOf('status', status),
    expiresAt: fields.maybeMoment('expires'),
    challenges: known,
    retryAt,
  }
}

/** CAs offer unknown challenge types; those are skipped. */
function readChallenge(fields: ResponseFields, scheme: string): Challenge | undefined {
  const type = challengeTypes.find(known => known === fields.raw('type'))
  if (type === undefined) return undefined
  const problem = fields.raw('error')
  return {
    type,
    url: fields.url('url', scheme),
    token: fields.text('token', TOKEN),
    status: fields.oneOf('status', ['pending', 'processing', 'valid', 'invalid']),
    error: problem === undefined ? undefined : problemOf(problem),
  }
}

export function readRenewalInfo(value: unknown, retryAt: number | undefined): RenewalInfo {
  const window = new ResponseFields(value, 'renewal information').inner('suggestedWindow')
  const start = window.maybeMoment('start')
  const end = window.maybeMoment('end')
  if (start === undefined || end === undefined || end < start)
    return invalidAnswer('renewal information without a window')
  return { start, end, retryAt }
}
