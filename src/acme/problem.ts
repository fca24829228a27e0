import type { EgressAnswer } from '#base/egress.ts'
import { retryAfter } from '#acme/retry-after.ts'

const PREFIX = 'urn:ietf:params:acme:error:'
const MAX_DETAIL = 400

/** A rejection by a CA, or an invalid response of it. */
export class AcmeProblem extends Error {
  override readonly name = 'AcmeProblem'
  /** As RFC 8555 §6.7 has it, without the prefix; `invalidAnswer` and `serverBusy` are ours. */
  readonly type: string
  readonly status: number
  /** The CA's Retry-After. */
  readonly retryAt: number | undefined

  constructor(
    type: string,
    detail: string,
    { status = 0, retryAt }: { readonly status?: number; readonly retryAt?: number | undefined } = {},
  ) {
    super(plainText(detail))
    this.type = type
    this.status = status
    this.retryAt = retryAt
  }
}

export function invalidAnswer(what: string): never {
  throw new AcmeProblem('invalidAnswer', `The CA sent ${what}.`)
}

/** External text, shortened and on one line: people read it in a status. */
const plainText = (text: string): string =>
  text
    .slice(0, MAX_DETAIL)
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()

/** Parses a problem document (RFC 9457), as far as it is present. */
export function problemOf(
  value: unknown,
  meta: { status?: number; retryAt?: number | undefined } = {},
): AcmeProblem {
  const { type, detail } =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  const known =
    typeof type === 'string' && type.startsWith(PREFIX) ? type.slice(PREFIX.length, 100) : undefined
  const text = typeof detail === 'string' && detail !== '' ? detail : 'The CA gave no reason.'
  return new AcmeProblem(known ?? typeByStatus(meta.status), text, meta)
}

function typeByStatus(status: number | undefined): string {
  if (status === 429) return 'rateLimited'
  return status === 502 || status === 503 || status === 504 ? 'serverBusy' : 'unknown'
}

/** The problem of an error response. */
export function refusedAnswer({ status, headers, body }: EgressAnswer, now: number): AcmeProblem {
  const retryAt = retryAfter(headers['retry-after'], now)
  return problemOf(parsed(body), { status, retryAt })
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
