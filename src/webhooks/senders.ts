import { addressesOf } from '#webhooks/address.ts'
import { twitter, worldline, xero, zoom } from '#webhooks/challenges.ts'
import { contentful } from '#webhooks/contentful.ts'
import { graphcms } from '#webhooks/graphcms.ts'
import { byHeader, inHeader, inPairs, stampAndBody } from '#webhooks/hmac.ts'
import { hubspot } from '#webhooks/hubspot.ts'
import { linear } from '#webhooks/linear.ts'
import { mailgun } from '#webhooks/mailgun.ts'
import { plivo } from '#webhooks/plivo.ts'
import { sendgrid } from '#webhooks/sendgrid.ts'
import { base64Key, keyOf, type SignedMessage } from '#webhooks/signatures.ts'
import { sns } from '#webhooks/sns.ts'
import { svix } from '#webhooks/svix.ts'
import { basicSecret, tokenIn } from '#webhooks/tokens.ts'
import { mailchimp, twilio } from '#webhooks/twilio.ts'
import type { SecretForm, WebhookScheme, Webhook } from '#webhooks/webhook.ts'

const hex = (header: string): WebhookScheme => inHeader({ headers: [header], encoding: 'hex' })
const base64 = (...headers: readonly string[]): WebhookScheme => inHeader({ headers, encoding: 'base64' })

const hubSha256 = (header: string): WebhookScheme =>
  inHeader({ headers: [header], prefix: 'sha256=', encoding: 'hex' })
const hubSha1 = (header: string): WebhookScheme =>
  inHeader({ headers: [header], prefix: 'sha1=', encoding: 'hex', algorithm: 'sha1' })

/** Both are sent, or only the second by older senders. */
const hubBoth = byHeader({
  'x-hub-signature-256': hubSha256('x-hub-signature-256'),
  'x-hub-signature': hubSha1('x-hub-signature'),
})

/** `<version>:<time>:<body>`, the signature after `<version>=`. */
const versioned = (version: string, header: string, stamp: string, window?: number): WebhookScheme =>
  inHeader({
    headers: [header],
    prefix: `${version}=`,
    encoding: 'hex',
    stamp,
    messages: ({ body }, time) => [[`${version}:`, time, ':', body]],
    ...(window !== undefined && { window }),
  })

/** `t=<time>,<name>=<signature>` over `<time>.<body>`. */
const paired = (header: string, signature: string, window?: number, stamp = 't'): WebhookScheme =>
  inPairs({
    header,
    stamp,
    signature,
    encoding: 'hex',
    message: stampAndBody,
    ...(window !== undefined && { window }),
  })

const addressAndBody = (webhook: Webhook): readonly SignedMessage[] =>
  addressesOf(webhook).map(address => [address, webhook.body])

/** How each sender signs, by its name. The default window for a signed time is 180 seconds. */
export const senders: Readonly<Record<string, WebhookScheme>> = {
  aftership: base64('aftership-hmac-sha256', 'as-signature-hmac-sha256'),
  airship: inHeader({
    headers: ['x-ua-signature'],
    encoding: 'hex',
    stamp: 'x-ua-timestamp',
    messages: ({ body }, stamp) => [[stamp, ':', body]],
  }),
  alchemy: hex('x-alchemy-signature'),
  autodesk: inHeader({
    headers: ['x-adsk-signature'],
    prefix: 'sha1hash=',
    encoding: 'hex',
    algorithm: 'sha1',
  }),
  bitbucket: hubSha256('x-hub-signature'),
  bolt: base64('x-bolt-hmac-sha256', 'x-bolt-hmac-sha256-pending'),
  box: inHeader({
    headers: ['box-signature-primary', 'box-signature-secondary'],
    encoding: 'base64',
    stamp: 'box-delivery-timestamp',
    window: 600,
    messages: ({ body }, stamp) => [[body, stamp]],
  }),
  brex: svix,
  buildkite: byHeader({
    'x-buildkite-signature': paired('x-buildkite-signature', 'signature', undefined, 'timestamp'),
    'x-buildkite-token': tokenIn('x-buildkite-token'),
  }),
  calendly: paired('calendly-webhook-signature', 'v1'),
  castle: inHeader({ headers: ['x-castle-signature'], encoding: 'either' }),
  chargify: hex('x-chargify-webhook-signature-hmac-sha-256'),
  circleci: inHeader({ headers: ['circleci-signature'], prefix: 'v1=', separator: ',', encoding: 'hex' }),
  clearbit: inHeader({
    headers: ['x-request-signature'],
    prefix: 'sha1=',
    encoding: 'hex',
    algorithm: 'sha1',
    // Keys are shown with a prefix that is not part of the key.
    keys: secret => [keyOf(secret.replace(/^sk_/, '')), keyOf(secret)],
  }),
  clerk: svix,
  coinbase: hex('x-cc-webhook-signature'),
  contentful,
  docusign: base64(...Array.from({ length: 20 }, (_, at) => `x-docusign-signature-${at + 1}`)),
  dropbox: hex('x-dropbox-signature'),
  facebook_graph_api: hubBoth,
  facebook_messenger: hubBoth,
  frameio: versioned('v0', 'x-frameio-signature', 'x-frameio-request-timestamp', 300),
  github: hubBoth,
  gitlab: tokenIn('x-gitlab-token'),
  go1: paired('go1-signature', 'v1'),
  graphcms,
  heroku: base64('heroku-webhook-hmac-sha256'),
  hostedhooks: paired('hostedhooks-signature', 's'),
  hubspot,
  instagram: hubBoth,
  intercom: hubSha1('x-hub-signature'),
  jira: hubSha256('x-hub-signature'),
  launch_darkly: hex('x-ld-signature'),
  linear,
  mailchimp,
  mailgun,
  microsoft_teams: inHeader({
    headers: ['authorization'],
    prefix: 'HMAC ',
    encoding: 'base64',
    keys: secret => [base64Key(secret)],
  }),
  modern_treasury: hex('x-signature'),
  mongodb: byHeader({
    'x-mms-signature': inHeader({ headers: ['x-mms-signature'], encoding: 'either', algorithm: 'sha1' }),
    'endpoint-signature': hubSha256('endpoint-signature'),
  }),
  mux: paired('mux-signature', 'v1', 300),
  orb: versioned('v1', 'x-orb-signature', 'x-orb-timestamp', 300),
  // Its documentation is offline, and copies differ in the prefix.
  orbit: inHeader({ headers: ['x-orbit-signature'], prefix: 'sha256=', bare: true, encoding: 'hex' }),
  pagerduty: inHeader({ headers: ['x-pagerduty-signature'], prefix: 'v1=', separator: ',', encoding: 'hex' }),
  pinwheel: versioned('v2', 'x-pinwheel-signature', 'x-timestamp'),
  plivo,
  pusher: hex('x-pusher-signature'),
  sendgrid,
  sentry: hex('sentry-hook-signature'),
  shopify: base64('x-shopify-hmac-sha256'),
  signal_sciences: hex('x-sigsci-signature'),
  slack: versioned('v0', 'x-slack-signature', 'x-slack-request-timestamp', 300),
  sns,
  sonatype: inHeader({ headers: ['x-nexus-webhook-signature'], encoding: 'hex', algorithm: 'sha1' }),
  square: byHeader({
    'x-square-hmacsha256-signature': inHeader({
      headers: ['x-square-hmacsha256-signature'],
      encoding: 'base64',
      messages: addressAndBody,
    }),
    'x-square-signature': inHeader({
      headers: ['x-square-signature'],
      encoding: 'base64',
      algorithm: 'sha1',
      messages: addressAndBody,
    }),
  }),
  stripe: paired('stripe-signature', 'v1', 300),
  svix,
  terraform: inHeader({
    headers: ['x-tfe-notification-signature'],
    encoding: 'hex',
    algorithm: 'sha512',
  }),
  tiktok: paired('tiktok-signature', 's'),
  trendmicro_conformity: hex('x-trendmicro-signature'),
  twilio,
  twitter,
  typeform: inHeader({ headers: ['typeform-signature'], prefix: 'sha256=', encoding: 'base64' }),
  vmware: basicSecret,
  webex: inHeader({ headers: ['x-spark-signature'], encoding: 'hex', algorithm: 'sha1' }),
  whatsapp: hubBoth,
  worldline,
  xero,
  zendesk: inHeader({
    headers: ['x-zendesk-webhook-signature'],
    encoding: 'base64',
    stamp: 'x-zendesk-webhook-signature-timestamp',
    messages: ({ body }, stamp) => [[stamp, body]],
  }),
  zoom,
}

const base64Text: SecretForm = { pattern: /^[\w+/-]+={0,2}$/, text: 'base64, as the sender shows it' }

/** The form of the secrets of senders that require one, by name; `none` for a sender without a secret. */
export const secretForms: Readonly<Record<string, SecretForm | 'none'>> = {
  brex: base64Text,
  clerk: base64Text,
  microsoft_teams: base64Text,
  // Its messages are signed with a private key.
  sns: 'none',
  svix: base64Text,
  vmware: { pattern: /^.*::/, text: 'of the form username::password' },
}
