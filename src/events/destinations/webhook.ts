import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { derivedId } from '#base/ids.ts'
import { Secret } from '#base/secrets.ts'
import { Batch } from '#events/batch.ts'
import type { Destination, DestinationParts, OutgoingEvent } from '#events/destination.ts'
import { refusal, unanswered, unusable } from '#events/destinations/failures.ts'
import { idsOf } from '#events/destinations/split-oversized.ts'
import { KeepAliveClient, type Post } from '#events/destinations/keep-alive-client.ts'
import type { TargetOf } from '#events/destinations/target.ts'

/** Targets stored before the option existed have no size. */
type WebhookTarget = Omit<TargetOf<'webhook'>, 'batch_size'> & { readonly batch_size?: number }

/** The body of one POST, and how many events it contains. */
interface WebhookMessage {
  readonly id: string
  /** Bytes for a long one, so that it is encoded once; a string is sent together with the head. */
  readonly body: string | Buffer
  readonly count: number
}

/** One that only has to be sent. */
interface Ready {
  readonly message: WebhookMessage
  readonly post: Post
}

const SERVICE = 'The webhook'
const PREFIX = 'whsec_'
// POSTs are sent one after another, in order, several per batch: more would keep a batch open for too long, and one per
// batch would cost a cursor write each, more than the POST.
const MAX_POSTS = 100
const MAX_EVENTS = 1000
const MAX_BYTES = 4 * 1_048_576
const MAX_POST = 1_048_576

/**
 * A POST for each event or for several, signed according to Standard Webhooks. Without a secret there is no signature.
 */
export function webhook(target: WebhookTarget, parts: DestinationParts): Destination {
  const { url, secret, batch_size: size = 1 } = target
  const http = new KeepAliveClient(parts.egress)
  const key = secret ? keyOf(new Secret(secret)) : undefined

  const headersOf = ({ id, body }: WebhookMessage): Record<string, string> => {
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
      let sent = 0
      const taken = (): Set<string> => idsOf(batch.slice(0, sent))
      const messages = messagesOf(batch, size)
      const nextPost = (): Ready | undefined => {
        const { value: message } = messages.next()
        return message && { message, post: { url, headers: headersOf(message), body: message.body, signal } }
      }
      for (let ready = nextPost(); ready !== undefined;) {
        const { message, post } = ready
        const [answer, next] = await Promise.all([
          http.post(post).catch((error: unknown) => {
            throw unanswered(SERVICE, error, taken())
          }),
          afterwards(nextPost),
        ])
        if (answer.status < 200 || answer.status > 299)
          throw refusal(SERVICE, answer, parts.now(), { taken: taken() })
        sent += message.count
        ready = next
      }
    },
    close: () => http.close(),
  }
}

/** Prepared while the current one is in flight: joining and signing takes as long as a response. */
async function afterwards<Result>(work: () => Result): Promise<Result> {
  await setImmediate()
  return work()
}

function* messagesOf(batch: readonly OutgoingEvent[], size: number): Generator<WebhookMessage> {
  if (size === 1) {
    for (const event of batch) yield { id: event.id, body: event.body, count: 1 }
    return
  }
  // The brackets and commas count too.
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

/** Derived from the event ids, so that a retry of the same events has the same id. */
function joined(events: readonly OutgoingEvent[]): WebhookMessage {
  const ids = events.map(({ id }) => id)
  const id = derivedId('evb', ids[0] ?? '', ids.join(' '))
  return { id, body: Buffer.from(`[${events.map(({ body }) => body).join(',')}]`), count: events.length }
}

const signature = (key: KeyObject, about: string, body: string | Buffer): string =>
  createHmac('sha256', key).update(about).update(body).digest('base64')

/** The bytes after `whsec_` are base64; any other secret is used as written. */
function keyOf(secret: Secret): KeyObject {
  const text = secret.reveal()
  if (!text.startsWith(PREFIX)) return createSecretKey(text, 'utf8')
  const key = Buffer.from(text.slice(PREFIX.length), 'base64')
  if (key.length === 0) throw unusable('The secret of the webhook is empty after whsec_.')
  return createSecretKey(key)
}
