import type { KeyObject } from 'node:crypto'
import type { Fields } from '#http/fields.ts'
import {
  type Algorithm,
  bodyHmac,
  digestBytes,
  type Encoding,
  keyOf,
  type SignedMessage,
  signatureBytes,
  someEqual,
} from '#webhooks/signatures.ts'
import { stampLike, timestampError, USUAL_WINDOW } from '#webhooks/timestamps.ts'
import {
  only,
  refused,
  type Sign,
  type Verify,
  type WebhookScheme,
  verified,
  type Webhook,
} from '#webhooks/webhook.ts'

/** More than any sender has active keys. */
const MAX_SIGNATURES = 20

const mismatch = refused('its signature does not match')

type Messages = readonly SignedMessage[] | undefined

interface Signed {
  readonly encoding: Encoding
  /** Default SHA-256. */
  readonly algorithm?: Algorithm
  /** The keys in a secret, any of which may have been used; default its bytes. */
  readonly keys?: (secret: string) => readonly KeyObject[]
  /** Tolerated difference of a signed time, in seconds. */
  readonly window?: number
}

interface HeaderScheme extends Signed {
  /** Headers with signatures; each may have several. */
  readonly headers: readonly string[]
  /** The prefix of each signature. */
  readonly prefix?: string
  /** The prefix is optional. */
  readonly bare?: boolean
  /** The separator of several in one header. */
  readonly separator?: string
  /** The header with the signed time. */
  readonly stamp?: string
  /** The signed messages, in all possible forms; default the body. Undefined when a part is missing. */
  readonly messages?: (webhook: Webhook, stamp: string) => Messages | Promise<Messages>
}

/** Signatures in separate headers. */
export const inHeader = (scheme: HeaderScheme): WebhookScheme => {
  const { stamp, window = USUAL_WINDOW, messages = ({ body }) => [[body]] } = scheme
  const unsigned = refused(`it has no signature in ${scheme.headers[0] ?? ''}`)
  const incomplete = refused('a signed part is missing')
  return secret => {
    const matches = matcher(scheme, secret)
    const verify: Verify = async webhook => {
      const texts = textsIn(webhook.fields, scheme)
      if (texts.length === 0) return unsigned
      const time = stamp === undefined ? '' : only(webhook.fields, stamp)
      if (time === undefined) return incomplete
      const fault = stamp === undefined ? undefined : timestampError(time, webhook.now, window)
      if (fault !== undefined) return refused(fault)
      const signed = await messages(webhook, time)
      if (signed === undefined) return incomplete
      return (await matches(texts, signed)) ? verified : mismatch
    }
    return Object.assign(verify, { sign: headerSigner(scheme, secret) })
  }
}

/** Signs the first header that the request has, and removes the others. */
function headerSigner(scheme: HeaderScheme, secret: string): Sign {
  const { headers, prefix = '', stamp, messages = ({ body }) => [[body]] } = scheme
  return async webhook => {
    const { fields } = webhook
    const header = headers.find(name => fields.get(name) !== undefined) ?? headers[0] ?? ''
    const time = stamp === undefined ? '' : stampLike(fields.get(stamp) ?? '', webhook.now)
    const bare = fields.withoutAll([...headers, ...(stamp === undefined ? [] : [stamp])])
    const stamped = stamp === undefined ? bare : bare.with(stamp, time)
    const [message] = (await messages({ ...webhook, fields: stamped }, time)) ?? []
    if (message === undefined) return undefined
    const [before = ''] = textsIn(fields, scheme)
    return stamped.with(header, prefix + (await signatureOf(scheme, secret, message, before)))
  }
}

interface PairsScheme extends Signed {
  readonly header: string
  /** The names of the time and of the signatures. */
  readonly stamp: string
  readonly signature: string
  readonly message: (webhook: Webhook, stamp: string, pairs: Pairs) => SignedMessage
}

/** Time and signatures in one header: `t=<time>,v1=<signature>`. */
export const inPairs = (scheme: PairsScheme): WebhookScheme => {
  const { window = USUAL_WINDOW, message } = scheme
  const unsigned = refused(`it has no signature in ${scheme.header}`)
  return secret => {
    const matches = matcher(scheme, secret)
    const verify: Verify = async webhook => {
      const pairs = pairsIn(webhook.fields.get(scheme.header) ?? '')
      const signatures = pairs.get(scheme.signature)
      const [stamp, second] = pairs.get(scheme.stamp) ?? []
      if (signatures === undefined || stamp === undefined || second !== undefined) return unsigned
      const fault = timestampError(stamp, webhook.now, window)
      if (fault !== undefined) return refused(fault)
      return (await matches(signatures, [message(webhook, stamp, pairs)])) ? verified : mismatch
    }
    const sign: Sign = async webhook => {
      const pairs = pairsIn(webhook.fields.get(scheme.header) ?? '')
      const time = stampLike(pairs.get(scheme.stamp)?.[0] ?? '', webhook.now)
      const signed = message(webhook, time, new Map([...pairs, [scheme.stamp, [time]]]))
      const text = await signatureOf(scheme, secret, signed, pairs.get(scheme.signature)?.[0] ?? '')
      const others = [...pairs].filter(([name]) => name !== scheme.stamp && name !== scheme.signature)
      const all = [[scheme.stamp, [time]], [scheme.signature, [text]], ...others] as const
      const value = all.flatMap(([name, values]) => values.map(each => `${name}=${each}`)).join(',')
      return webhook.fields.without(scheme.header).with(scheme.header, value)
    }
    return Object.assign(verify, { sign })
  }
}

/** `<time>.<body>`, as many senders sign. */
export const stampAndBody = ({ body }: Webhook, stamp: string): SignedMessage => [stamp, '.', body]

/** Uses the first of these headers that is present; older senders use other ones. */
export const byHeader =
  (schemes: Readonly<Record<string, WebhookScheme>>): WebhookScheme =>
  (secret, parts) => {
    const verifiers = Object.entries(schemes).map(([name, scheme]) => [name, scheme(secret, parts)] as const)
    const [usual] = verifiers
    const verifierOf = ({ fields }: Webhook): Verify | undefined =>
      (verifiers.find(([name]) => fields.get(name) !== undefined) ?? usual)?.[1]
    const verify: Verify = webhook => verifierOf(webhook)?.(webhook) ?? mismatch
    const sign: Sign = async webhook => verifierOf(webhook)?.sign?.(webhook)
    return Object.assign(verify, { sign })
  }

/** Of a message with the first key of a secret, in the encoding of an earlier signature. */
async function signatureOf(
  { algorithm = 'sha256', encoding, keys }: Signed,
  secret: string,
  message: SignedMessage,
  before: string,
): Promise<string> {
  const [key = keyOf(secret)] = keys?.(secret) ?? []
  const isHex = encoding === 'hex' || (encoding === 'either' && !/[^0-9a-f]/i.test(before))
  return (await bodyHmac(algorithm, key, message)).toString(isHex ? 'hex' : 'base64')
}

/** Whether one of the signatures matches one of the messages and keys. */
function matcher({ algorithm = 'sha256', encoding, keys }: Signed, secret: string) {
  const known = keys?.(secret) ?? [keyOf(secret)]
  const size = digestBytes[algorithm]
  return async (texts: readonly string[], messages: readonly SignedMessage[]): Promise<boolean> => {
    const signatures = texts
      .map(text => signatureBytes(text, encoding, size))
      .filter(bytes => bytes !== undefined)
    if (signatures.length === 0) return false
    for (const key of known)
      for (const message of messages)
        if (someEqual(signatures, await bodyHmac(algorithm, key, message))) return true
    return false
  }
}

function textsIn(fields: Fields, { headers, prefix = '', bare = false, separator }: HeaderScheme): string[] {
  const texts: string[] = []
  for (const header of headers) {
    const value = fields.get(header)
    if (value === undefined) continue
    const parts = separator === undefined ? [value] : value.split(separator, MAX_SIGNATURES)
    for (const part of parts) {
      const text = part.trim()
      const prefixed = text.startsWith(prefix)
      if (texts.length < MAX_SIGNATURES && (prefixed || bare))
        texts.push(prefixed ? text.slice(prefix.length) : text)
    }
  }
  return texts
}

type Pairs = ReadonlyMap<string, readonly string[]>

function pairsIn(value: string): Pairs {
  const pairs = new Map<string, string[]>()
  for (const part of value.split(',', MAX_SIGNATURES)) {
    const equals = part.indexOf('=')
    if (equals < 0) continue
    const name = part.slice(0, equals).trim()
    const values = pairs.get(name)
    if (values === undefined) pairs.set(name, [part.slice(equals + 1).trim()])
    else values.push(part.slice(equals + 1).trim())
  }
  return pairs
}
