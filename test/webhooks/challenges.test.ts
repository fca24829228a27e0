import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { WebhookVerdict } from '#webhooks/webhook.ts'
import { secretText } from '../support/secrets.ts'
import { verify, mac, post, seconds, type SentWebhook } from './support.ts'

const SECRET = secretText('shared with the sender')
const NOW = Date.now()

const ask = (provider: string, sent: SentWebhook): Promise<WebhookVerdict> =>
  verify({ provider, secret: SECRET, sent, now: NOW })

const get = (query: string, headers: SentWebhook['headers'] = {}): SentWebhook => ({
  method: 'GET',
  url: `https://hooks.example.com/in${query}`,
  headers,
  body: Buffer.alloc(0),
})

suite('the challenge of twitter', () => {
  test('is answered with the signature of its token', async () => {
    const verdict = await ask('twitter', get('?crc_token=abc-123%3D&nonce=x'))
    assert.ok(verdict.kind === 'answer')
    assert.equal(verdict.status, 200)
    assert.deepEqual(JSON.parse(verdict.content), {
      response_token: `sha256=${mac('sha256', SECRET, ['abc-123='], 'base64')}`,
    })
  })

  test('does not sign what could be the content of an event', async () => {
    for (const token of ['{"for_user_id":"1"}', '[1]', '"x"', ' ', '', 'x'.repeat(257)])
      assert.equal(
        (await ask('twitter', get(`?crc_token=${encodeURIComponent(token)}`))).kind,
        'refused',
        token,
      )
  })

  test('is recognised only with GET', async () => {
    assert.equal((await ask('twitter', { ...get('?crc_token=abc'), method: 'POST' })).kind, 'refused')
  })
})

suite('the challenge of worldline', () => {
  const challenge = { 'X-GCS-Webhooks-Endpoint-Verification': '6c3a-42' }

  test('is answered with the text in its header', async () => {
    const verdict = await ask('worldline', get('', challenge))
    assert.ok(verdict.kind === 'answer')
    assert.equal(verdict.content, '6c3a-42')
    assert.equal(verdict.mediaType, 'text/plain; charset=utf-8')
  })

  test('is recognised only with GET', async () => {
    assert.equal((await ask('worldline', post(challenge, Buffer.from('{}')))).kind, 'refused')
  })
})

suite('the challenge of xero', () => {
  const intents = [
    '{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"SIW"}',
    '{"events":null}',
  ]
  const signed = (content: string, secret = SECRET): SentWebhook =>
    post({ 'x-xero-signature': mac('sha256', secret, [content], 'base64') }, Buffer.from(content))

  test('is answered with 200 when it is signed, and with 401 when it is not', async () => {
    for (const intent of intents) {
      const right = await ask('xero', signed(intent))
      assert.deepEqual(right, { kind: 'answer', status: 200, content: '', verified: true })
      const wrong = await ask('xero', signed(intent, 'another'))
      assert.deepEqual(wrong, { kind: 'answer', status: 401, content: '', verified: false })
    }
  })

  test('is not a message with events', async () => {
    const events = '{"events":[{"resourceId":"1"}]}'
    assert.equal((await ask('xero', signed(events))).kind, 'verified')
    assert.equal((await ask('xero', signed(events, 'another'))).kind, 'refused')
    assert.equal((await ask('xero', signed('[]', 'another'))).kind, 'refused')
  })
})

suite('the challenge of zoom', () => {
  const signed = (content: string, secret = SECRET): SentWebhook => {
    const stamp = seconds(NOW)
    const signature = `v0=${mac('sha256', secret, [`v0:${stamp}:`, content], 'hex')}`
    return post({ 'x-zm-signature': signature, 'x-zm-request-timestamp': stamp }, Buffer.from(content))
  }
  const asked = (token: unknown): string =>
    JSON.stringify({ event: 'endpoint.url_validation', payload: { plainToken: token } })

  test('is answered with its token and the signature of it', async () => {
    const verdict = await ask('zoom', signed(asked('qgg8vlvZRS6UYooatFL8Aw')))
    assert.ok(verdict.kind === 'answer')
    assert.deepEqual(JSON.parse(verdict.content), {
      plainToken: 'qgg8vlvZRS6UYooatFL8Aw',
      encryptedToken: mac('sha256', SECRET, ['qgg8vlvZRS6UYooatFL8Aw'], 'hex'),
    })
  })

  test('is refused when it is not signed, because the response could sign a message', async () => {
    assert.equal((await ask('zoom', signed(asked('v0:1700000000:{}'), 'another'))).kind, 'refused')
    assert.equal((await ask('zoom', post({}, Buffer.from(asked('abc'))))).kind, 'refused')
  })

  test('without a usable token is forwarded to the service', async () => {
    for (const token of [undefined, 7, 'v0:1:{}'])
      assert.equal((await ask('zoom', signed(asked(token)))).kind, 'verified')
  })
})
