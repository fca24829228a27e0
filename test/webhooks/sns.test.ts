// @peculiar/x509 resolves its parts through decorator metadata, so this import must come first.
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { createPrivateKey, createSign, webcrypto } from 'node:crypto'
import { once } from 'node:events'
import { createServer, globalAgent } from 'node:https'
import type { AddressInfo } from 'node:net'
import { before, suite, test } from 'node:test'
import * as x509 from '@peculiar/x509'
import type { WebhookVerdict } from '#webhooks/webhook.ts'
import { SnsMessageValidator } from './libraries.ts'
import { StubEgress, verify, post } from './support.ts'

const NOW = Date.now()
const HOUR = 3_600_000
const ADDRESS = 'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem'
const RSA = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  publicExponent: new Uint8Array([1, 0, 1]),
  modulusLength: 2048,
}

interface Signer {
  readonly certificate: string
  readonly key: string
}

async function signer(from: number, to: number): Promise<Signer> {
  const keys = await webcrypto.subtle.generateKey(RSA, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=sns.amazonaws.com',
    notBefore: new Date(from),
    notAfter: new Date(to),
    keys,
    signingAlgorithm: RSA,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
  })
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return {
    certificate: certificate.toString('pem'),
    key: key.export({ format: 'pem', type: 'pkcs8' }),
  }
}

type Message = Record<string, string>

const notification = (at = NOW): Message => ({
  Type: 'Notification',
  MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
  TopicArn: 'arn:aws:sns:us-east-1:123456789012:MyTopic',
  Message: 'Grüße,\nWelt',
  Timestamp: new Date(at).toISOString(),
  SignatureVersion: '1',
  SigningCertURL: ADDRESS,
  UnsubscribeURL: 'https://sns.us-east-1.amazonaws.com/?Action=Unsubscribe',
})

const confirmation = (): Message => ({
  ...notification(),
  Type: 'SubscriptionConfirmation',
  Token: '2336412f37',
  SubscribeURL: 'https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription',
})

/** Signs as the sender documents: names and values, each on a line, in the order of the names. */
function signed(message: Message, { key }: Signer): Message {
  const isConfirmation = message['Type'] !== 'Notification'
  const names = [
    'Message',
    'MessageId',
    'Subject',
    'SubscribeURL',
    'Timestamp',
    'Token',
    'TopicArn',
    'Type',
  ].filter(
    name => message[name] !== undefined && (isConfirmation || (name !== 'Token' && name !== 'SubscribeURL')),
  )
  const text = names.map(name => `${name}\n${message[name]}\n`).join('')
  const algorithm = message['SignatureVersion'] === '2' ? 'RSA-SHA256' : 'RSA-SHA1'
  return { ...message, Signature: createSign(algorithm).update(text).sign(key, 'base64') }
}

const ask = (message: object, egress: StubEgress, kind?: string): Promise<WebhookVerdict> => {
  const headers = {
    'content-type': 'text/plain; charset=UTF-8',
    ...(kind && { 'x-amz-sns-message-type': kind }),
  }
  return verify({
    provider: 'sns',
    secret: '',
    sent: post(headers, Buffer.from(JSON.stringify(message))),
    now: NOW,
    egress,
  })
}

const reasonOf = (verdict: WebhookVerdict): string =>
  verdict.kind === 'refused' ? verdict.reason : verdict.kind

suite('messages of Amazon SNS', () => {
  let amazon: Signer
  let stranger: Signer
  before(async () => {
    amazon = await signer(NOW - HOUR, NOW + 100 * HOUR)
    stranger = await signer(NOW - HOUR, NOW + 100 * HOUR)
  })
  const answers = (): StubEgress => new StubEgress({ [ADDRESS]: amazon.certificate })

  test('pass when they are signed, in both versions and of every kind', async () => {
    const kinds = [notification(), { ...notification(), Subject: 'Hello' }, confirmation()]
    const all = [...kinds, { ...confirmation(), Type: 'UnsubscribeConfirmation' }]
    for (const version of ['1', '2'])
      for (const message of all) {
        const sent = signed({ ...message, SignatureVersion: version }, amazon)
        assert.equal((await ask(sent, answers(), sent['Type'])).kind, 'verified', String(sent['Type']))
      }
  })

  test('pass with a subject that is null, which is as if there were none', async () => {
    assert.equal(
      (await ask({ ...signed(notification(), amazon), Subject: null }, answers())).kind,
      'verified',
    )
  })

  test('are verified like by the reference library', async () => {
    const { certificate, key } = amazon
    await using server = createServer({ cert: certificate, key }, (_request, response) =>
      response.end(certificate),
    )
    await once(server.listen(0, '127.0.0.1'), 'listening')
    globalAgent.options.ca = certificate
    const SigningCertURL = `https://127.0.0.1:${(server.address() as AddressInfo).port}/x.pem`
    const validator = new SnsMessageValidator(/^127\.0\.0\.1:\d+$/)
    const validate = (message: object): Promise<Error | null> =>
      new Promise(resolve => validator.validate(message, resolve))
    for (const message of [notification(), { ...notification(), SignatureVersion: '2' }, confirmation()]) {
      const sent = signed(message, amazon)
      // The address of the certificate is not signed, so the same message can be shown to both.
      assert.equal(await validate({ ...sent, SigningCertURL }), null)
      assert.equal((await ask(sent, answers())).kind, 'verified')
    }
    globalAgent.destroy()
  })

  test('are refused when any part of them is another', async () => {
    const sent = signed({ ...notification(), Subject: 'Hello' }, amazon)
    for (const name of [
      'Message',
      'MessageId',
      'Subject',
      'TopicArn',
      'Signature',
      'SignatureVersion',
      'Type',
    ])
      assert.equal((await ask({ ...sent, [name]: `${sent[name]}A` }, answers())).kind, 'refused', name)
    for (const name of [
      'Message',
      'MessageId',
      'Subject',
      'TopicArn',
      'Timestamp',
      'Signature',
      'SigningCertURL',
    ])
      assert.equal((await ask({ ...sent, [name]: undefined }, answers())).kind, 'refused', name)
    assert.equal((await ask(signed(notification(), stranger), answers())).kind, 'refused')
  })

  test('are refused when their header names another kind', async () => {
    const sent = signed(notification(), amazon)
    assert.match(reasonOf(await ask(sent, answers(), 'SubscriptionConfirmation')), /another kind/)
  })

  test('are refused more than an hour before or after they were signed', async () => {
    for (const [offset, kind] of [
      [-HOUR + 5000, 'verified'],
      [-HOUR - 5000, 'refused'],
      [HOUR + 5000, 'refused'],
    ] as const)
      assert.equal((await ask(signed(notification(NOW + offset), amazon), answers())).kind, kind)
  })

  test('are refused without a request when their certificate is elsewhere', async () => {
    const path = '/SimpleNotificationService-0123456789abcdef.pem'
    for (const address of [
      `http://sns.us-east-1.amazonaws.com${path}`,
      `https://sns.us-east-1.amazonaws.com.example.com${path}`,
      `https://example.com/?sns.us-east-1.amazonaws.com${path}`,
      `https://user@sns.us-east-1.amazonaws.com${path}`,
      `https://sns.us-east-1.amazonaws.com:8443${path}`,
      `https://s3.us-east-1.amazonaws.com${path}`,
      `https://sns.a.b.amazonaws.com${path}`,
      'https://sns.us-east-1.amazonaws.com/?Action=Publish',
      `https://sns.us-east-1.amazonaws.com/..${path}`,
      `https://sns.us-east-1.amazonaws.com${path}#`,
      `${ADDRESS}\n`,
    ]) {
      const egress = new StubEgress({ [address]: amazon.certificate })
      const verdict = await ask(signed({ ...notification(), SigningCertURL: address }, amazon), egress)
      assert.equal(reasonOf(verdict), 'its certificate is not one of Amazon SNS', address)
      assert.deepEqual(egress.asked, [])
    }
  })

  test('may have their certificate in China', async () => {
    const address = 'https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-0123456789abcdef.pem'
    const egress = new StubEgress({ [address]: amazon.certificate })
    assert.equal(
      (await ask(signed({ ...notification(), SigningCertURL: address }, amazon), egress)).kind,
      'verified',
    )
  })

  test('are refused when their certificate cannot be fetched or is not valid now', async () => {
    const sent = signed(notification(), amazon)
    assert.match(reasonOf(await ask(sent, new StubEgress())), /could not be fetched/)
    assert.match(
      reasonOf(await ask(sent, new StubEgress({ [ADDRESS]: 'no certificate' }))),
      /could not be fetched/,
    )
    for (const [from, to] of [
      [NOW - 3 * HOUR, NOW - HOUR],
      [NOW + HOUR, NOW + 3 * HOUR],
    ] as const) {
      const late = await signer(from, to)
      const verdict = await ask(signed(notification(), late), new StubEgress({ [ADDRESS]: late.certificate }))
      assert.match(reasonOf(verdict), /not valid now/)
    }
  })

  test('that are malformed are refused', async () => {
    for (const content of ['', '{', '[]', '7', '{"Type":"toString"}', 'null', '\xff'])
      assert.equal(
        reasonOf(
          await verify({
            provider: 'sns',
            secret: '',
            sent: post({}, Buffer.from(content, 'latin1')),
            now: NOW,
          }),
        ),
        'it is not a message of Amazon SNS',
        content,
      )
  })
})
