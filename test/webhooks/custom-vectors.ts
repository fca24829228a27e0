import assert from 'node:assert/strict'
import { createHash, createSign, generateKeyPairSync } from 'node:crypto'
import { signRequest } from '@contentful/node-apps-toolkit/requests'
import { LinearWebhookClient } from '@linear/sdk/webhooks'
import twilio from 'twilio'
import { hygraph, sendgridLibrary } from './libraries.ts'
import { mac, post, seconds, type SentWebhook, URL_SENT_TO, type Vector } from './support.ts'

const SECRET = 'a secret shared with the sender'
const CONTENTFUL_SECRET = 'c'.repeat(64)
const sha256 = (pieces: readonly (string | Buffer)[]): string =>
  createHash('sha256')
    .update(Buffer.concat(pieces.map(piece => Buffer.from(piece as string))))
    .digest('hex')

const sendgridKeys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const spki = (key: typeof sendgridKeys.publicKey): string =>
  key.export({ format: 'der', type: 'spki' }).toString('base64')
const sendgridSecret = spki(sendgridKeys.publicKey)

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const FORM = { To: '+15551234', From: '+15559876', Body: 'Grüße & mehr=', Empty: '', Again: ['b', 'a'] }
const FORM_TEXT = 'To=%2B15551234&From=%2B15559876&Body=Gr%C3%BC%C3%9Fe+%26+mehr%3D&Empty=&Again=b&Again=a'
const FORM_BODY = Buffer.from(FORM_TEXT)

const byHubspotVersion = (version: 'v1' | 'v2'): Vector => ({
  provider: 'hubspot',
  variant: version,
  secret: SECRET,
  needs: ['X-HubSpot-Signature'],
  make: (_at, content) => {
    const signed = version === 'v1' ? [SECRET, content] : [SECRET, 'POST', URL_SENT_TO, content]
    const headers = { 'X-HubSpot-Signature': sha256(signed) }
    return post({ ...headers, 'X-HubSpot-Signature-Version': version }, content)
  },
})

const mailgunPart = (at: number): Record<'timestamp' | 'token' | 'signature', string> => {
  const timestamp = seconds(at)
  const token = 'e0b5477167110d68991efc6b9f89f0a11066af27834600e123'
  return { timestamp, token, signature: mac('sha256', SECRET, [timestamp, token], 'hex') }
}

const BOUNDARY = '7d1c2f0a9b3e4d5c8f6a7b8c9d0e1f2a'

const mailgunMultipart = (at: number): SentWebhook => {
  const fields = Object.entries({ recipient: 'a@example.com', ...mailgunPart(at) })
  const parts = fields.map(
    ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const file = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="attachment-1"; filename="a.txt"\r\n\r\nx\r\n`
  const body = Buffer.from(`${parts.join('')}${file}--${BOUNDARY}--\r\n`)
  return post({ 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }, body)
}

const byMailgun = (variant: string, make: (at: number) => SentWebhook): Vector => ({
  provider: 'mailgun',
  variant,
  secret: SECRET,
  needs: [],
  window: 180,
  content: 'unsigned',
  make,
})

/** Senders with an own signature scheme each. */
export const customVectors: readonly Vector[] = [
  {
    provider: 'contentful',
    secret: CONTENTFUL_SECRET,
    other: 'd'.repeat(64),
    needs: ['x-contentful-signature', 'x-contentful-timestamp', 'x-contentful-signed-headers'],
    window: 30,
    make: (at, content) => {
      const signedHeaders = {
        'content-type': 'application/json',
        'X-Contentful-Topic': 'ContentManagement.Entry.save',
      }
      const request = {
        method: 'POST',
        path: '/in/a%20b?x=1&y=z',
        headers: signedHeaders,
        body: content.toString(),
      } as const
      return post({ ...signedHeaders, ...signRequest(CONTENTFUL_SECRET, request, at) }, content)
    },
  },
  {
    provider: 'gitlab',
    secret: SECRET,
    needs: ['X-Gitlab-Token'],
    content: 'unsigned',
    make: (_at, content) => post({ 'X-Gitlab-Token': SECRET }, content),
  },
  {
    provider: 'buildkite',
    variant: 'token',
    secret: SECRET,
    needs: ['X-Buildkite-Token'],
    content: 'unsigned',
    make: (_at, content) => post({ 'X-Buildkite-Token': SECRET }, content),
  },
  {
    provider: 'vmware',
    secret: 'hook::pass:word',
    other: 'hook::pass:wort',
    needs: ['Authorization'],
    content: 'unsigned',
    make: (_at, content) =>
      post({ Authorization: `Basic ${Buffer.from('hook:pass:word').toString('base64')}` }, content),
  },
  {
    provider: 'graphcms',
    secret: SECRET,
    needs: ['gcms-signature'],
    window: 180,
    make: (at, content) => {
      const signed = JSON.stringify({ Body: content.toString(), EnvironmentName: 'master', TimeStamp: at })
      return post(
        { 'gcms-signature': `sign=${mac('sha256', SECRET, [signed], 'base64')}, env=master, t=${at}` },
        content,
      )
    },
    agrees: ({ body, headers }) => {
      const given = {
        rawPayload: body.toString(),
        secret: SECRET,
        signature: headers['gcms-signature'] ?? '',
      }
      assert.ok(hygraph.verifyWebhookSignature(given))
    },
  },
  {
    provider: 'hubspot',
    secret: SECRET,
    needs: ['X-HubSpot-Signature-v3', 'X-HubSpot-Request-Timestamp'],
    window: 300,
    make: (at, content) => {
      const signed = ['POST', 'https://hooks.example.com/in?to=a@b.example:1', content, String(at)]
      const headers = { 'X-HubSpot-Signature-v3': mac('sha256', SECRET, signed, 'base64') }
      const url = 'https://hooks.example.com/in?to=a%40b.example%3A1'
      return post({ ...headers, 'X-HubSpot-Request-Timestamp': String(at) }, content, url)
    },
  },
  byHubspotVersion('v1'),
  byHubspotVersion('v2'),
  {
    provider: 'linear',
    secret: SECRET,
    needs: ['Linear-Signature'],
    window: 60,
    content: 'own',
    make: at => {
      const body = Buffer.from(JSON.stringify({ action: 'create', webhookTimestamp: at }))
      return post({ 'Linear-Signature': mac('sha256', SECRET, [body], 'hex') }, body)
    },
    agrees: ({ body, headers }) =>
      assert.ok(new LinearWebhookClient(SECRET).verify(body, headers['Linear-Signature'] ?? '')),
  },
  {
    provider: 'mailchimp',
    secret: SECRET,
    needs: ['X-Mandrill-Signature'],
    content: 'own',
    make: () => {
      const signed = [URL_SENT_TO, 'mandrill_events', '[{"event":"send"}]', 'other', 'a b']
      const body = Buffer.from('other=a+b&mandrill_events=%5B%7B%22event%22%3A%22send%22%7D%5D')
      return post({ ...form, 'X-Mandrill-Signature': mac('sha1', SECRET, signed, 'base64') }, body)
    },
  },
  byMailgun('events', at =>
    post({}, Buffer.from(JSON.stringify({ signature: mailgunPart(at), 'event-data': {} }))),
  ),
  byMailgun('events of a subaccount', at => {
    const { signature, ...rest } = mailgunPart(at)
    const parted = {
      ...rest,
      signature: mac('sha256', 'another', ['x'], 'hex'),
      'parent-signature': signature,
    }
    return post({}, Buffer.from(JSON.stringify({ signature: parted })))
  }),
  byMailgun('forms', at => post(form, Buffer.from(new URLSearchParams(mailgunPart(at)).toString()))),
  byMailgun('forms with attachments', mailgunMultipart),
  {
    provider: 'plivo',
    secret: SECRET,
    needs: ['X-Plivo-Signature-V3', 'X-Plivo-Signature-V3-Nonce'],
    content: 'own',
    make: () => {
      const signed = 'https://hooks.example.com/in?a=1&b=x y.From1To2.1234'
      const signature = mac('sha256', SECRET, [signed], 'base64')
      const headers = { 'X-Plivo-Signature-V3': `AAAA,${signature}`, 'X-Plivo-Signature-V3-Nonce': '1234' }
      return post(
        { ...form, ...headers },
        Buffer.from('To=2&From=1'),
        'https://hooks.example.com/in?b=x%20y&a=1',
      )
    },
  },
  {
    provider: 'plivo',
    variant: 'without a form',
    secret: SECRET,
    needs: ['X-Plivo-Signature-V3', 'X-Plivo-Signature-V3-Nonce'],
    content: 'own',
    make: () => {
      const signature = mac('sha256', SECRET, ['https://hooks.example.com/in?a=1&b=2.1234'], 'base64')
      const headers = { 'X-Plivo-Signature-V3': signature, 'X-Plivo-Signature-V3-Nonce': '1234' }
      return { method: 'GET', url: 'https://hooks.example.com/in?b=2&a=1', headers, body: Buffer.alloc(0) }
    },
  },
  {
    provider: 'plivo',
    variant: 'v2',
    secret: SECRET,
    needs: ['X-Plivo-Signature-V2', 'X-Plivo-Signature-V2-Nonce'],
    content: 'unsigned',
    make: (_at, content) => {
      const signature = mac('sha256', SECRET, ['https://hooks.example.com/in/a%20b', '99'], 'base64')
      return post({ 'X-Plivo-Signature-V2': signature, 'X-Plivo-Signature-V2-Nonce': '99' }, content)
    },
  },
  {
    provider: 'sendgrid',
    secret: sendgridSecret,
    other: spki(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey),
    needs: ['X-Twilio-Email-Event-Webhook-Signature', 'X-Twilio-Email-Event-Webhook-Timestamp'],
    window: 180,
    make: (at, content) => {
      const stamp = seconds(at)
      const signature = createSign('sha256')
        .update(stamp)
        .update(content)
        .sign(sendgridKeys.privateKey, 'base64')
      const headers = { 'X-Twilio-Email-Event-Webhook-Signature': signature }
      return post({ ...headers, 'X-Twilio-Email-Event-Webhook-Timestamp': stamp }, content)
    },
    agrees: ({ body, headers }) => {
      const library = new sendgridLibrary.EventWebhook()
      const [signature = '', stamp = ''] = ['Signature', 'Timestamp'].map(
        name => headers[`X-Twilio-Email-Event-Webhook-${name}`],
      )
      assert.ok(
        library.verifySignature(library.convertPublicKeyToECDSA(sendgridSecret), body, signature, stamp),
      )
    },
  },
  ...(['x-square-hmacsha256-signature', 'x-square-signature'] as const).map((header, at): Vector => ({
    provider: 'square',
    ...(at === 1 && { variant: 'older header' }),
    secret: SECRET,
    needs: [header],
    make: (_at, content) =>
      post(
        { [header]: mac(at === 0 ? 'sha256' : 'sha1', SECRET, [URL_SENT_TO, content], 'base64') },
        content,
      ),
  })),
  {
    provider: 'twilio',
    secret: SECRET,
    needs: ['X-Twilio-Signature'],
    content: 'own',
    make: () => {
      const signature = twilio.getExpectedTwilioSignature(SECRET, URL_SENT_TO, FORM)
      return post({ ...form, 'X-Twilio-Signature': signature }, FORM_BODY)
    },
  },
  {
    provider: 'twilio',
    variant: 'JSON',
    secret: SECRET,
    needs: ['X-Twilio-Signature'],
    make: (_at, content) => {
      const url = `https://hooks.example.com/in?bodySHA256=${sha256([content])}`
      return post({ 'X-Twilio-Signature': twilio.getExpectedTwilioSignature(SECRET, url, {}) }, content, url)
    },
    agrees: ({ body, headers, url }) =>
      assert.ok(
        twilio.validateRequestWithBody(SECRET, headers['X-Twilio-Signature'] ?? '', url, body.toString()),
      ),
  },
]
