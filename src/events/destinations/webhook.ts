import { createHmac } from 'node:crypto'
import { Secret } from '#base/secrets.ts'
import type { Destination, DestinationParts, OutgoingEvent } from '#events/destination.ts'
import { refusal, unanswered, unusable } from '#events/destinations/failures.ts'
import { KeptHttp } from '#events/destinations/kept-http.ts'
import type { TargetOf } from '#events/destinations/target.ts'

const SERVICE = 'The webhook'
const PREFIX = 'whsec_'
// One request each, in order: more would keep a batch open for too long.
const MAX_EVENTS = 100
const MAX_BYTES = 4 * 1_048_576

/** A POST for each event, signed as Standard Webhooks says. Without a secret there is no signature. */
export function webhook({ url, secret }: TargetOf<'webhook'>, parts: DestinationParts): Destination {
  const http = new KeptHttp(parts.egress)
  const key = secret ? keyOf(new Secret(secret)) : undefined

  const headersOf = ({ id, body }: OutgoingEvent): Record<string, string> => {
    const timestamp = String(Math.floor(parts.now() / 1000))
    return {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      ...(key && { 'webhook-signature': `v1,${signature(key, `${id}.${timestamp}.${body}`)}` }),
    }
  }

  return {
    maxEvents: MAX_EVENTS,
    maxBytes: MAX_BYTES,
    async send(batch, signal) {
      const taken = new Set<string>()
      for (const event of batch) {
        const post = { url, headers: headersOf(event), body: event.body, signal }
        const answer = await http.post(post).catch((error: unknown) => {
          throw unanswered(SERVICE, error, taken)
        })
        if (answer.status < 200 || answer.status > 299) throw refusal(SERVICE, answer, parts.now(), { taken })
        taken.add(event.id)
      }
    },
    close: () => http.close(),
  }
}

const signature = (key: Buffer, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64')

/** The bytes behind `whsec_` are in base64; any other secret is used as it is written. */
function keyOf(secret: Secret): Buffer {
  const text = secret.reveal()
  if (!text.startsWith(PREFIX)) return Buffer.from(text)
  const key = Buffer.from(text.slice(PREFIX.length), 'base64')
  if (key.length === 0) throw unusable('The secret of the webhook has nothing behind whsec_.')
  return key
}
