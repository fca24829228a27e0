import { createHmac } from 'node:crypto'
import { derivedId } from '#base/ids.ts'
import { Secret } from '#base/secrets.ts'
import { Batch } from '#events/batch.ts'
import type { Destination, DestinationParts, OutgoingEvent } from '#events/destination.ts'
import { refusal, unanswered, unusable } from '#events/destinations/failures.ts'
import { KeptHttp } from '#events/destinations/kept-http.ts'
import type { TargetOf } from '#events/destinations/target.ts'

/** What was stored before there was a choice has no size. */
type WebhookTarget = Omit<TargetOf<'webhook'>, 'batch_size'> & { readonly batch_size?: number }

/** The content of one POST, and the events that are taken when it is. */
interface Message {
  readonly id: string
  /** Bytes where it is long, so that it is encoded once; text leaves together with the head. */
  readonly body: string | Buffer
  readonly events: readonly OutgoingEvent[]
}

const SERVICE = 'The webhook'
const PREFIX = 'whsec_'
// They leave one POST after another, in order: more would keep a batch open for too long. But one POST for each batch
// would be a write of the cursor for each, which costs more than the POST.
const MAX_POSTS = 100
const MAX_EVENTS = 1000
const MAX_BYTES = 4 * 1_048_576
const MAX_POST = 1_048_576

/** A POST for each event or for several, signed as Standard Webhooks says. Without a secret there is no signature. */
export function webhook(target: WebhookTarget, parts: DestinationParts): Destination {
  const { url, secret, batch_size: size = 1 } = target
  const http = new KeptHttp(parts.egress)
  const key = secret ? keyOf(new Secret(secret)) : undefined

  const headersOf = ({ id, body }: Message): Record<string, string> => {
    const timestamp = String(Math.floor(parts.now() / 1000))
    return {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      ...(key && { 'webhook-signature': `v1,${signature(key, `${id}.${timestamp}.`, body)}` }),
    }
  }

  return {
    maxEvents: size * Math.min(MAX_POSTS, Math.max(1, Math.floor(MAX_EVENTS / size))),
    maxBytes: MAX_BYTES,
    async send(batch, signal) {
      const taken = new Set<string>()
      for (const message of messagesOf(batch, size)) {
        const post = { url, headers: headersOf(message), body: message.body, signal }
        const answer = await http.post(post).catch((error: unknown) => {
          throw unanswered(SERVICE, error, taken)
        })
        if (answer.status < 200 || answer.status > 299) throw refusal(SERVICE, answer, parts.now(), { taken })
        for (const { id } of message.events) taken.add(id)
      }
    },
    close: () => http.close(),
  }
}

function* messagesOf(batch: readonly OutgoingEvent[], size: number): Generator<Message> {
  if (size === 1) {
    for (const event of batch) yield { id: event.id, body: event.body, events: [event] }
    return
  }
  // The brackets and a comma behind each event count too.
  const limits = { maxEvents: size, maxBytes: MAX_POST - size - 2 }
  let together = new Batch(limits)
  for (const event of batch) {
    if (together.add(event)) continue
    yield joined(together.events)
    together = new Batch(limits)
    together.add(event)
  }
  if (together.events.length > 0) yield joined(together.events)
}

/** Its id follows from those of its events, so that the same events sent again are known to be the same. */
function joined(events: readonly OutgoingEvent[]): Message {
  const ids = events.map(({ id }) => id)
  const id = derivedId('evb', ids[0] ?? '', ids.join(' '))
  return { id, body: Buffer.from(`[${events.map(({ body }) => body).join(',')}]`), events }
}

const signature = (key: Buffer, about: string, body: string | Buffer): string =>
  createHmac('sha256', key).update(about).update(body).digest('base64')

/** The bytes behind `whsec_` are in base64; any other secret is used as it is written. */
function keyOf(secret: Secret): Buffer {
  const text = secret.reveal()
  if (!text.startsWith(PREFIX)) return Buffer.from(text)
  const key = Buffer.from(text.slice(PREFIX.length), 'base64')
  if (key.length === 0) throw unusable('The secret of the webhook has nothing behind whsec_.')
  return key
}
