import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { suite, test } from 'node:test'
import { Fields } from '#http/fields.ts'
import { senders } from '#webhooks/senders.ts'
import { parseTimestamp } from '#webhooks/timestamps.ts'
import { UnusableSecret } from '#webhooks/webhook.ts'
import { secretText } from '../support/secrets.ts'
import { StubEgress, CONTENT, verify, mac, post, seconds, type SentWebhook, webhookOf } from './support.ts'

const SECRET = secretText('shared with the sender')
const NOW = Date.now()

const kindOf = async (provider: string, sent: SentWebhook): Promise<string> =>
  (await verify({ provider, secret: SECRET, sent, now: NOW })).kind

suite('several signatures', () => {
  const right = `v1=${mac('sha256', SECRET, [CONTENT], 'hex')}`
  const wrong = `v1=${mac('sha256', 'old', [CONTENT], 'hex')}`

  test('pass when one of them is right, at any position', async () => {
    for (const list of [`${wrong},${right}`, `${right},${wrong}`, `v2=abc, ${right} ,${wrong}`, `,,${right}`])
      assert.equal(
        await kindOf('pagerduty', post({ 'X-PagerDuty-Signature': list }, CONTENT)),
        'verified',
        list,
      )
  })

  test('are refused when none is', async () => {
    for (const list of [
      wrong,
      `${wrong},${wrong}`,
      '',
      ',',
      'v1=',
      right.slice(3),
      right.replace('v1', 'v2'),
    ])
      assert.equal(
        await kindOf('pagerduty', post({ 'X-PagerDuty-Signature': list }, CONTENT)),
        'refused',
        list,
      )
  })

  test('are looked at up to a number that no sender reaches', async () => {
    const many = `${`${wrong},`.repeat(20)}${right}`
    assert.equal(await kindOf('pagerduty', post({ 'X-PagerDuty-Signature': many }, CONTENT)), 'refused')
  })

  test('of two keys pass in one header with a time', async () => {
    const stamp = seconds(NOW)
    const by = (secret: string): string => mac('sha256', secret, [stamp, '.', CONTENT], 'hex')
    const header = `t=${stamp},v1=${by('old')},v1=${by(SECRET)},v0=${by('x')}`
    assert.equal(await kindOf('stripe', post({ 'Stripe-Signature': header }, CONTENT)), 'verified')
  })

  test('with two times are refused, because they are ambiguous', async () => {
    const stamp = seconds(NOW)
    const signature = mac('sha256', SECRET, [stamp, '.', CONTENT], 'hex')
    const header = `t=${stamp},t=${stamp},v1=${signature}`
    assert.equal(await kindOf('stripe', post({ 'Stripe-Signature': header }, CONTENT)), 'refused')
  })
})

suite('a signature', () => {
  test('in hex may be in upper case', async () => {
    const signature = mac('sha256', SECRET, [CONTENT], 'hex').toUpperCase()
    assert.equal(await kindOf('dropbox', post({ 'X-Dropbox-Signature': signature }, CONTENT)), 'verified')
  })

  test('that is cut, longer or of other characters is refused', async () => {
    const signature = mac('sha256', SECRET, [CONTENT], 'hex')
    for (const text of [
      signature.slice(1),
      `${signature}0`,
      signature.replace(/^./, 'g'),
      'x'.repeat(30_000),
    ])
      assert.equal(await kindOf('dropbox', post({ 'X-Dropbox-Signature': text }, CONTENT)), 'refused')
    const base64 = mac('sha256', SECRET, [CONTENT], 'base64')
    for (const text of [base64.slice(1), `${base64}AAAA`, base64.replace(/(?<=^.{9})./, ' '), '===='])
      assert.equal(await kindOf('shopify', post({ 'X-Shopify-Hmac-Sha256': text }, CONTENT)), 'refused')
  })

  test('of the older kind does not help where the newer one is wrong', async () => {
    const older = `sha1=${mac('sha1', SECRET, [CONTENT], 'hex')}`
    const newer = `sha256=${mac('sha256', 'old', [CONTENT], 'hex')}`
    const headers = { 'X-Hub-Signature': older, 'X-Hub-Signature-256': newer }
    assert.equal(await kindOf('github', post(headers, CONTENT)), 'refused')
  })

  test('with a signed field that is there twice is refused', async () => {
    const stamp = seconds(NOW)
    const signature = `v0=${mac('sha256', SECRET, [`v0:${stamp}:`, CONTENT], 'hex')}`
    const sent = post({ 'X-Slack-Signature': signature, 'X-Slack-Request-Timestamp': stamp }, CONTENT)
    const webhook = webhookOf(sent, NOW)
    const twice = new Fields(`${webhook.fields.text}x-slack-request-timestamp: ${stamp}\r\n`)
    const verifySlack = senders['slack']?.(SECRET, { egress: new StubEgress() })
    assert.deepEqual(await verifySlack?.(webhook), { kind: 'verified' })
    assert.equal((await verifySlack?.({ ...webhook, fields: twice }))?.kind, 'refused')
  })
})

suite('an address that is signed', () => {
  const sign = (url: string): SentWebhook['headers'] => ({
    'x-square-hmacsha256-signature': mac('sha256', SECRET, [url, CONTENT], 'base64'),
  })

  test('may leave the port out or name it', async () => {
    const plain = 'https://hooks.example.com/in'
    const named = 'https://hooks.example.com:443/in'
    for (const [signed, sentTo] of [
      [plain, plain],
      [named, plain],
      [plain, named],
      [plain, 'https://hooks.example.com:8443/in'],
    ] as const)
      assert.equal(
        await kindOf('square', post(sign(signed), CONTENT, sentTo)),
        'verified',
        `${signed} ${sentTo}`,
      )
  })

  test('is refused at any other place', async () => {
    const signed = sign('https://hooks.example.com/in')
    for (const url of [
      'http://hooks.example.com/in',
      'https://hooks.example.com/in/',
      'https://hooks.example.com/in?x=1',
      'https://other.example.com/in',
    ])
      assert.equal(await kindOf('square', post(signed, CONTENT, url)), 'refused', url)
  })
})

suite('a body that is not signed', () => {
  const headers = (url: string): SentWebhook['headers'] => ({
    'X-Twilio-Signature': mac('sha1', SECRET, [url], 'base64'),
  })
  const url = 'https://hooks.example.com/in'

  test('is refused, also when the address is signed', async () => {
    assert.equal(await kindOf('twilio', post(headers(url), CONTENT, url)), 'refused')
    assert.equal(await kindOf('twilio', post(headers(url), Buffer.alloc(0), url)), 'verified')
  })

  test('is refused when it does not match its signed hash', async () => {
    const hashed = `${url}?bodySHA256=${'0'.repeat(64)}`
    assert.equal(await kindOf('twilio', post(headers(hashed), CONTENT, hashed)), 'refused')
  })

  test('of more parameters than any sender has is refused', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const text = (count: number): string => Array.from({ length: count }, () => 'a=').join('&')
    const sent = (count: number): SentWebhook => {
      const signature = mac('sha1', SECRET, [url, 'a'], 'base64')
      return post({ ...form, 'X-Twilio-Signature': signature }, Buffer.from(text(count)), url)
    }
    assert.equal(await kindOf('twilio', sent(1000)), 'verified')
    assert.equal(await kindOf('twilio', sent(1001)), 'refused')
  })

  test('of bytes that are no text is refused where it is signed as text', async () => {
    const signed = (body: Buffer): SentWebhook => {
      const text = JSON.stringify({ Body: body.toString(), EnvironmentName: 'master', TimeStamp: NOW })
      return post(
        { 'gcms-signature': `sign=${mac('sha256', SECRET, [text], 'base64')}, env=master, t=${NOW}` },
        body,
      )
    }
    assert.equal(await kindOf('graphcms', signed(Buffer.from('\ufffd'))), 'verified')
    assert.equal(await kindOf('graphcms', signed(Buffer.from([0xff]))), 'refused')
  })
})

suite('the fields that contentful signs', () => {
  test('must include the time', async () => {
    const stamp = String(NOW)
    const names = 'x-contentful-signed-headers'
    const signature = mac('sha256', SECRET, [`POST\n/in\n${names}:${names}\n`, CONTENT], 'hex')
    const headers = { 'x-contentful-signature': signature, 'x-contentful-timestamp': stamp, [names]: names }
    assert.equal(
      await kindOf('contentful', post(headers, CONTENT, 'https://hooks.example.com/in')),
      'refused',
    )
  })

  test('are signed in the order in which they are named', async () => {
    const stamp = String(NOW)
    const names = 'host,x-contentful-timestamp'
    const signed = `POST\n/in\nhost:hooks.example.com;x-contentful-timestamp:${stamp}\n`
    const headers = {
      'x-contentful-signature': mac('sha256', SECRET, [signed, CONTENT], 'hex'),
      'x-contentful-timestamp': stamp,
      'x-contentful-signed-headers': names,
    }
    assert.equal(
      await kindOf('contentful', post(headers, CONTENT, 'https://hooks.example.com/in')),
      'verified',
    )
  })
})

suite('the time of a linear message', () => {
  test('must be in the content, where it is signed', async () => {
    for (const content of ['{}', '[]', 'x', '{"webhookTimestamp":"now"}', `{"webhookTimestamp":"${NOW}"}`]) {
      const headers = {
        'Linear-Signature': mac('sha256', SECRET, [content], 'hex'),
        'Linear-Timestamp': String(NOW),
      }
      assert.equal(await kindOf('linear', post(headers, Buffer.from(content))), 'refused', content)
    }
  })
})

suite('a secret that its sender cannot have given', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({
    format: 'der',
    type: 'spki',
  })

  for (const [provider, secret] of [
    ['svix', 'whsec_'],
    ['svix', 'whsec_not base64!'],
    ['microsoft_teams', '***'],
    ['sendgrid', 'no key'],
    ['sendgrid', rsa.toString('base64')],
    ['vmware', 'user:password'],
    ['sns', 'any'],
  ] as const)
    test(`is not taken for ${provider}: ${secret.slice(0, 20)}`, () => {
      assert.throws(() => senders[provider]?.(secret, { egress: new StubEgress() }), UnusableSecret)
    })
})

test('times are read in every form that senders write, and in no other', () => {
  const at = Date.UTC(2024, 0, 2, 3, 4, 5)
  for (const text of [
    '1704164645',
    '1704164645000',
    '2024-01-02T03:04:05Z',
    '2024-01-02T03:04:05',
    '2024-01-02T03:04:05.999999Z',
    '2024-01-01T20:04:05-07:00',
    '2024-01-02T05:04:05+0200',
  ])
    assert.equal(parseTimestamp(text), at, text)
  assert.equal(parseTimestamp('1704164645.25'), at + 250)
  for (const text of [
    '',
    '0',
    '-1',
    '1e10',
    '170416464',
    '17041646450000',
    ' 1704164645',
    '2024-13-02T03:04:05Z',
    'now',
  ])
    assert.equal(parseTimestamp(text), undefined, text)
})
