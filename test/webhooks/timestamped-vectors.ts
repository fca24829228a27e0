import Mux from '@mux/mux-node'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Stripe } from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import { mac, post, seconds, type Vector } from './support.ts'

const SECRET = 'a secret shared with the sender'
const STRIPE_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const OTHER_KEY = `whsec_${Buffer.alloc(24, 1).toString('base64')}`

const iso = (at: number): string => new Date(at).toISOString()

/** `t=<time>,<name>=<signature>` over `<time>.<content>`. */
const paired = (provider: string, header: string, name: string, window = 180, time = 't'): Vector => ({
  provider,
  secret: SECRET,
  needs: [header],
  window,
  make: (at, content) => {
    const stamp = seconds(at)
    return post(
      { [header]: `${time}=${stamp},${name}=${mac('sha256', SECRET, [stamp, '.', content], 'hex')}` },
      content,
    )
  },
})

interface Versioned {
  readonly provider: string
  readonly version: string
  readonly signature: string
  readonly stamp: string
  readonly window?: number
  readonly write?: (at: number) => string
}

/** `<version>:<time>:<content>`. */
const versioned = ({
  provider,
  version,
  signature,
  stamp,
  window = 180,
  write = seconds,
}: Versioned): Vector => ({
  provider,
  secret: SECRET,
  needs: [signature, stamp],
  window,
  make: (at, content) => {
    const time = write(at)
    const signed = mac('sha256', SECRET, [`${version}:${time}:`, content], 'hex')
    return post({ [signature]: `${version}=${signed}`, [stamp]: time }, content)
  },
})

const svixNeeds = (name: string): string[] => [`${name}-id`, `${name}-timestamp`, `${name}-signature`]

/** Webhooks of Svix and its users, signed by its own library. */
const bySvix = (provider: string, name: 'svix' | 'webhook'): Vector => ({
  provider,
  ...(provider === 'svix' && name === 'webhook' && { variant: 'under the standard names' }),
  secret: STRIPE_SECRET,
  other: OTHER_KEY,
  needs: svixNeeds(name),
  window: 300,
  make: (at, content) => {
    const Library = name === 'svix' ? SvixWebhook : StandardWebhook
    const signature = new Library(STRIPE_SECRET).sign('msg_1', new Date(at), content.toString())
    const headers = { [`${name}-id`]: 'msg_1', [`${name}-timestamp`]: seconds(at) }
    return post({ ...headers, [`${name}-signature`]: `v1a,AAAA v1,AAAA ${signature}` }, content)
  },
})

/** Senders that sign a timestamp and the content. */
export const timestampedVectors: readonly Vector[] = [
  bySvix('svix', 'svix'),
  bySvix('svix', 'webhook'),
  bySvix('clerk', 'svix'),
  bySvix('brex', 'webhook'),
  {
    provider: 'stripe',
    secret: STRIPE_SECRET,
    needs: ['Stripe-Signature'],
    window: 300,
    make: (at, content) => {
      const header = Stripe.webhooks.generateTestHeaderString({
        payload: content.toString(),
        secret: STRIPE_SECRET,
        timestamp: Math.floor(at / 1000),
      })
      return post({ 'Stripe-Signature': `${header},v0=6ffbb59b` }, content)
    },
  },
  {
    ...paired('mux', 'Mux-Signature', 'v1', 300),
    agrees: ({ body, headers }) =>
      new Mux({ tokenId: 'x', tokenSecret: 'x' }).webhooks.verifySignature(body.toString(), headers, SECRET),
  },
  paired('calendly', 'Calendly-Webhook-Signature', 'v1'),
  paired('go1', 'Go1-Signature', 'v1'),
  paired('hostedhooks', 'HostedHooks-Signature', 's'),
  paired('tiktok', 'TikTok-Signature', 's'),
  paired('buildkite', 'X-Buildkite-Signature', 'signature', 180, 'timestamp'),
  versioned({
    provider: 'frameio',
    version: 'v0',
    signature: 'X-Frameio-Signature',
    stamp: 'X-Frameio-Request-Timestamp',
    window: 300,
  }),
  versioned({
    provider: 'slack',
    version: 'v0',
    signature: 'X-Slack-Signature',
    stamp: 'X-Slack-Request-Timestamp',
    window: 300,
  }),
  versioned({
    provider: 'zoom',
    version: 'v0',
    signature: 'x-zm-signature',
    stamp: 'x-zm-request-timestamp',
  }),
  versioned({
    provider: 'orb',
    version: 'v1',
    signature: 'X-Orb-Signature',
    stamp: 'X-Orb-Timestamp',
    window: 300,
    // Without a zone, as the sender writes it.
    write: at => iso(at).replace('Z', ''),
  }),
  versioned({
    provider: 'pinwheel',
    version: 'v2',
    signature: 'x-pinwheel-signature',
    stamp: 'x-timestamp',
  }),
  {
    provider: 'airship',
    secret: SECRET,
    needs: ['X-UA-SIGNATURE', 'X-UA-TIMESTAMP'],
    window: 180,
    make: (at, content) => {
      const stamp = seconds(at)
      const signature = mac('sha256', SECRET, [stamp, ':', content], 'hex')
      return post({ 'X-UA-SIGNATURE': signature, 'X-UA-TIMESTAMP': stamp }, content)
    },
  },
  ...(['PRIMARY', 'SECONDARY'] as const).map((which): Vector => ({
    provider: 'box',
    variant: which.toLowerCase(),
    secret: SECRET,
    needs: [`BOX-SIGNATURE-${which}`, 'BOX-DELIVERY-TIMESTAMP'],
    window: 600,
    make: (at, content) => {
      const stamp = iso(at - 7 * 3_600_000).replace(/\.\d+Z$/, '-07:00')
      const signature = mac('sha256', SECRET, [content, stamp], 'base64')
      const other = which === 'PRIMARY' ? 'BOX-SIGNATURE-SECONDARY' : 'BOX-SIGNATURE-PRIMARY'
      const wrong = Buffer.alloc(32).toString('base64')
      const headers = { [`BOX-SIGNATURE-${which}`]: signature, [other]: wrong }
      return post({ ...headers, 'BOX-DELIVERY-TIMESTAMP': stamp, 'BOX-SIGNATURE-VERSION': '1' }, content)
    },
  })),
  {
    provider: 'zendesk',
    secret: SECRET,
    needs: ['X-Zendesk-Webhook-Signature', 'X-Zendesk-Webhook-Signature-Timestamp'],
    window: 180,
    make: (at, content) => {
      const stamp = iso(at).replace(/\.\d+Z$/, 'Z')
      const signature = mac('sha256', SECRET, [stamp, content], 'base64')
      const headers = { 'X-Zendesk-Webhook-Signature': signature }
      return post({ ...headers, 'X-Zendesk-Webhook-Signature-Timestamp': stamp }, content)
    },
  },
]
