import { createVerify } from 'node:crypto'
import { jsonObject } from '#webhooks/json.ts'
import { base64Bytes } from '#webhooks/signatures.ts'
import { SnsCertificates } from '#webhooks/sns-certificates.ts'
import { timestampError } from '#webhooks/timestamps.ts'
import {
  refused,
  type WebhookScheme,
  UnusableSecret,
  type WebhookVerdict,
  verified,
  type Webhook,
} from '#webhooks/webhook.ts'

/** Messages have at most 256 KiB, and JSON may need six bytes for one. */
const MAX_BODY = 2 * 1024 * 1024
/** How long the sender retries a delivery. */
const WINDOW = 3600
/** Those of keys with 8192 bits. */
const MAX_SIGNATURE = 1024

const confirmation = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']

/** The signed fields of each type of message, in this order; the subject only if present. */
const signedParts: Readonly<Record<string, readonly string[]>> = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: confirmation,
  UnsubscribeConfirmation: confirmation,
}

const algorithms: Readonly<Record<string, string>> = { 1: 'RSA-SHA1', 2: 'RSA-SHA256' }

type SnsMessage = ReadonlyMap<string, string>

/** Amazon signs for all customers, so this proves that SNS sent a message, not who owns its topic. */
export const sns: WebhookScheme = (secret, { egress }) => {
  if (secret !== '') throw new UnusableSecret('must be absent: messages are signed with a public key')
  const certificates = new SnsCertificates(egress)
  return async webhook => {
    const message = messageIn(webhook)
    const text = message && signedText(message)
    if (message === undefined || text === undefined) return refused('it is not a message of Amazon SNS')
    const kind = webhook.fields.get('x-amz-sns-message-type')
    if (kind !== undefined && kind !== message.get('Type'))
      return refused('its header names another kind of message than its body')
    const fault = timestampError(message.get('Timestamp') ?? '', webhook.now, WINDOW)
    return fault === undefined ? check(message, text, webhook.now, certificates) : refused(fault)
  }
}

async function check(
  message: SnsMessage,
  text: string,
  now: number,
  certificates: SnsCertificates,
): Promise<WebhookVerdict> {
  const algorithm = algorithms[message.get('SignatureVersion') ?? '']
  const signature = base64Bytes(message.get('Signature') ?? '', MAX_SIGNATURE)
  if (algorithm === undefined) return refused('its signature version is unknown')
  if (signature === undefined) return refused('it has no signature')
  const key = await certificates.keyAt(message.get('SigningCertURL') ?? '', now)
  if (typeof key === 'string') return refused(key)
  const good = createVerify(algorithm).update(text).verify(key, signature)
  return good ? verified : refused('its signature does not match')
}

function messageIn({ body }: Webhook): SnsMessage | undefined {
  const object = body.length > MAX_BODY ? undefined : jsonObject(body)
  if (object === undefined) return undefined
  return new Map(
    Object.entries(object).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

function signedText(message: SnsMessage): string | undefined {
  const kind = message.get('Type') ?? ''
  if (!Object.hasOwn(signedParts, kind)) return undefined
  let text = ''
  for (const name of signedParts[kind] ?? []) {
    const value = message.get(name)
    if (value !== undefined) text += `${name}\n${value}\n`
    else if (name !== 'Subject') return undefined
  }
  return text
}
