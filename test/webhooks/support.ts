import { createHmac } from 'node:crypto'
import type { EgressAnswer } from '#base/egress.ts'
import { Fields } from '#http/fields.ts'
import { senders } from '#webhooks/senders.ts'
import type { SchemeParts, WebhookVerdict, Webhook } from '#webhooks/webhook.ts'

/** A webhook as its sender sends it. */
export interface SentWebhook {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** A test vector of a sender, written from its documentation or made with its library, never with the tested code. */
export interface Vector {
  readonly provider: string
  readonly variant?: string
  readonly secret: string
  /** Another secret of the same form; any text by default. */
  readonly other?: string
  /** The webhook at a time (milliseconds), with this content where it can be chosen. */
  make(at: number, content: Buffer): SentWebhook | Promise<SentWebhook>
  /** The header fields without which it is not complete. */
  readonly needs: readonly string[]
  /** Seconds that a signed time may be away. */
  readonly window?: number
  /** The sender does not sign the content, or makes it itself. */
  readonly content?: 'unsigned' | 'own'
  /** Throws unless the sender's own library accepts it. */
  agrees?(sent: SentWebhook): unknown
}

export const URL_SENT_TO = 'https://hooks.example.com/in/a%20b?x=1&y=z'
export const CONTENT = Buffer.from('{"event":"ping","text":"Grüße, 世界","list":[1,2.50]}')

export const post = (headers: SentWebhook['headers'], body: Buffer, url = URL_SENT_TO): SentWebhook => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'application/json', ...headers },
  body,
})

type Digest = 'hex' | 'base64'

/** Signs pieces one after the other. */
export function mac(
  algorithm: string,
  key: string | Buffer,
  pieces: readonly (string | Buffer)[],
  digest: Digest,
): string {
  const bytes = Buffer.concat(pieces.map(piece => Buffer.from(piece as string)))
  return createHmac(algorithm, key).update(bytes).digest(digest)
}

export const seconds = (at: number): string => String(Math.floor(at / 1000))

export function webhookOf(sent: SentWebhook, now: number): Webhook {
  const [, scheme, authority, target] = /^(https?):\/\/([^/]+)(.*)$/.exec(sent.url) ?? []
  const lines = Object.entries(sent.headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return {
    method: sent.method,
    scheme: scheme === 'http' ? 'http' : 'https',
    authority: authority ?? '',
    target: target || '/',
    fields: new Fields(lines.join('')),
    body: sent.body,
    now,
  }
}

/** Responds to outgoing calls from a table of URLs, and records the calls. */
export class StubEgress {
  readonly asked: string[] = []
  readonly #bodies: Readonly<Record<string, string>>

  constructor(bodies: Readonly<Record<string, string>> = {}) {
    this.#bodies = bodies
  }

  async request(url: string): Promise<EgressAnswer> {
    this.asked.push(url)
    const body = this.#bodies[url]
    return { status: body === undefined ? 404 : 200, headers: {}, body: Buffer.from(body ?? '') }
  }
}

interface VerificationInput {
  readonly provider: string
  readonly secret: string
  readonly sent: SentWebhook
  readonly now: number
  readonly egress?: SchemeParts['egress']
}

/** The gateway's verdict on a webhook. */
export async function verify({
  provider,
  secret,
  sent,
  now,
  egress = new StubEgress(),
}: VerificationInput): Promise<WebhookVerdict> {
  const scheme = senders[provider]
  if (scheme === undefined) throw new Error(`${provider} is not in the table`)
  return scheme(secret, { egress })(webhookOf(sent, now))
}
