import type { Egress } from '#base/egress.ts'
import type { Fields } from '#http/fields.ts'

/** A request that claims to be a webhook: all that its signature can be about. */
export interface Webhook {
  readonly method: string
  readonly scheme: 'http' | 'https'
  /** Name and port as the sender wrote them. */
  readonly authority: string
  /** Path and query. */
  readonly target: string
  readonly fields: Fields
  /** The bytes as they were sent, also where they are compressed. */
  readonly body: Buffer
  /** Milliseconds since 1970. */
  readonly now: number
}

export type Verdict =
  | { readonly kind: 'verified' }
  /** The reason is for the log: it holds neither secrets nor what the right signature would have been. */
  | { readonly kind: 'refused'; readonly reason: string }
  | Answer

/** What the sender wants to hear is known here, so the service behind is not asked. */
export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  readonly mediaType?: string
  readonly content: string
  /** Whether the request was signed as it should be. */
  readonly verified: boolean
}

export type Verify = (webhook: Webhook) => Verdict | Promise<Verdict>

export interface SchemeParts {
  readonly egress: Pick<Egress, 'request'>
}

/** Prepares all that a secret is used for; throws an `UnusableSecret` when it cannot be one of this sender. */
export type Scheme = (secret: string, parts: SchemeParts) => Verify

/** A secret does not have the form that its sender gives them; `reason` goes on after "secret". */
export class UnusableSecret extends Error {
  override readonly name = 'UnusableSecret'
  readonly reason: string

  constructor(reason: string) {
    super(`The secret ${reason}.`)
    this.reason = reason
  }
}

export const verified: Verdict = { kind: 'verified' }
export const refused = (reason: string): Verdict => ({ kind: 'refused', reason })

/** The value of a field that is there once: with two of them, nobody knows which one a service goes by. */
export function only(fields: Fields, name: string): string | undefined {
  const [value, second] = fields.all(name)
  return second === undefined ? value : undefined
}
