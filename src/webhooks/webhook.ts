import type { Egress } from '#base/egress.ts'
import type { Fields } from '#http/fields.ts'

/** A possible webhook: everything that its signature can cover. */
export interface Webhook {
  readonly method: string
  readonly scheme: 'http' | 'https'
  /** Host and port as the sender wrote them. */
  readonly authority: string
  /** Path and query. */
  readonly target: string
  readonly fields: Fields
  /** The bytes as sent, even if they are compressed. */
  readonly body: Buffer
  /** Milliseconds since 1970. */
  readonly now: number
}

export type WebhookVerdict =
  | { readonly kind: 'verified' }
  /** The reason is for the log: it contains neither secrets nor the expected signature. */
  | { readonly kind: 'refused'; readonly reason: string }
  | WebhookResponse

/** The expected response is known here, so the service is not involved. */
export interface WebhookResponse {
  readonly kind: 'answer'
  readonly status: number
  readonly mediaType?: string
  readonly content: string
  /** Verifies the signature of a request. */
  readonly verified: boolean
}

/** The header with a signature of the current time; undefined if it cannot be signed. */
export type Sign = (webhook: Webhook) => Promise<Fields | undefined>

export interface Verify {
  (webhook: Webhook): WebhookVerdict | Promise<WebhookVerdict>
  /** Signs as the sender does; absent if the secret does not suffice for that. */
  readonly sign?: Sign
}

export interface SchemeParts {
  readonly egress: Pick<Egress, 'request'>
}

/** Prepares a secret; throws an `UnusableSecret` when it is invalid for this sender. */
export type WebhookScheme = (secret: string, parts: SchemeParts) => Verify

/** What a sender's secrets look like; `text` continues after "must be". */
export interface SecretForm {
  readonly pattern: RegExp
  readonly text: string
}

/** A malformed secret; `reason` continues after "secret". */
export class UnusableSecret extends Error {
  override readonly name = 'UnusableSecret'
  readonly reason: string

  constructor(reason: string) {
    super(`The secret ${reason}.`)
    this.reason = reason
  }
}

export const verified: WebhookVerdict = { kind: 'verified' }
export const refused = (reason: string): WebhookVerdict => ({ kind: 'refused', reason })

/** The value of a field that occurs once: with two it is unknown which one a service uses. */
export function only(fields: Fields, name: string): string | undefined {
  const [value, second] = fields.all(name)
  return second === undefined ? value : undefined
}
