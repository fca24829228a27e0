import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Problem } from '#base/errors.ts'
import { checkWebhookVerification } from '#api/modules/webhook-verification.ts'
import type { Exchange, Handler, Reply } from '#http/exchange.ts'
import { type Body, type BodySink, bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { webhookVerificationModule as module } from '#gateway/modules/webhook-verification.ts'
import { modulePartsFor } from '../gateway/module-parts.ts'
import { optionsOf, request } from '../gateway/modules/support.ts'
import { info } from '../gateway/agents/support.ts'
import { senders } from '#webhooks/senders.ts'
import { secretText } from '../support/secrets.ts'
import { CONTENT, mac } from './support.ts'

const SECRET = secretText('shared with the sender')
const LIMIT = 10 * 1024 * 1024
const parts = modulePartsFor(info)
const place = { id: 'edghtsrt_test' }

const fromRecord = (provider: string, secret = SECRET): Handler =>
  module.fromRecord({ enabled: true, provider, secret }, place, parts)
const fromAgent = (given: object): Handler | undefined =>
  module.fromAgent?.build(optionsOf({ WebhookVerification: given }), place, parts)

const signedBy = (secret: string, content: Buffer): string =>
  `X-Hub-Signature-256: sha256=${mac('sha256', secret, [content], 'hex')}\r\n`

function webhook(body: Body, fields: string, expectsContinue = false): Exchange {
  const plain = request()
  const { framing } = body
  const head = { ...plain.head, method: 'POST', framing, expectsContinue, fields: new Fields(fields) }
  return { ...plain, head, body }
}

interface Outcome {
  readonly reply: Reply
  /** What the service behind got; undefined when nothing reached it. */
  readonly got:
    { readonly exchange: Exchange; readonly content: Buffer; readonly trailers: string } | undefined
}

/** Passes a request through the module to a service that reads all of it. */
async function through(handler: Handler | undefined, exchange: Exchange): Promise<Outcome> {
  assert.ok(handler)
  let got: Outcome['got']
  const reply = await handler(exchange, async passed => {
    const pieces: Buffer[] = []
    const trailers = await new Promise<string>((resolve, reject) => {
      const sink: BodySink = { data: piece => pieces.push(piece), end: resolve, fail: reject }
      passed.body.read(sink, false)
    })
    got = { exchange: passed, content: Buffer.concat(pieces), trailers }
    const body = bodyOf(Buffer.from('ok'))
    return { head: { status: 200, reason: 'OK', framing: body.framing, fields: Fields.none }, body }
  })
  return { reply, got }
}

suite('SEC-20: webhook verification', () => {
  const github = fromRecord('GITHUB')

  test('passes on what is signed, byte by byte and with its head', async () => {
    const fields = `${signedBy(SECRET, CONTENT)}Content-Type: application/json\r\n`
    const { reply, got } = await through(github, webhook(bodyOf(CONTENT), fields))
    assert.equal(reply.head.status, 200)
    assert.ok(got)
    assert.ok(got.content.equals(CONTENT))
    assert.equal(got.exchange.head.fields.text, fields)
    assert.deepEqual(got.exchange.body.framing, { kind: 'length', length: CONTENT.length })
  })

  test('refuses what is not, without the reason', async () => {
    for (const fields of ['', signedBy('another', CONTENT), signedBy(SECRET, Buffer.from('{}'))]) {
      const exchange = webhook(bodyOf(CONTENT), fields)
      const { reply, got } = await through(github, exchange)
      assert.equal(got, undefined)
      assert.equal(reply.head.status, 403)
      assert.equal(reply.head.fields.get('ngrok-error-code'), 'ERR_NGROK_3204')
      assert.equal(reply.refusal, 'webhook_refused')
      assert.match(exchange.context.notes?.join() ?? '', /^webhook_verification: it/)
    }
  })

  test('refuses requests without content unless that is what was signed', async () => {
    assert.equal((await through(github, request())).reply.head.status, 403)
    const { got } = await through(github, request(signedBy(SECRET, Buffer.alloc(0))))
    assert.equal(got?.content.length, 0)
    const empty = webhook(bodyOf(Buffer.alloc(0)), signedBy(SECRET, Buffer.alloc(0)))
    assert.equal((await through(github, empty)).reply.head.status, 200)
  })

  test('keeps the framing and the trailers of chunked content', async () => {
    const body: Body = {
      ...bodyOf(CONTENT, { kind: 'chunked' }),
      framing: { kind: 'chunked' },
      read(sink) {
        for (const byte of CONTENT) sink.data(Buffer.from([byte]))
        sink.end('Checksum: 7\r\n')
      },
    }
    const { got } = await through(github, webhook(body, signedBy(SECRET, CONTENT)))
    assert.ok(got)
    assert.ok(got.content.equals(CONTENT))
    assert.equal(got.trailers, 'Checksum: 7\r\n')
    assert.deepEqual(got.exchange.body.framing, { kind: 'chunked' })
  })

  test('checks compressed content as it was sent', async () => {
    const zipped = gzipSync(CONTENT)
    const fields = `Content-Encoding: gzip\r\n${signedBy(SECRET, zipped)}`
    const { got } = await through(github, webhook(bodyOf(zipped), fields))
    assert.ok(got?.content.equals(zipped))
    const unzipped = webhook(bodyOf(zipped), `Content-Encoding: gzip\r\n${signedBy(SECRET, CONTENT)}`)
    assert.equal((await through(github, unzipped)).reply.head.status, 403)
  })

  test('takes as much content as its limit, and not a byte more', async () => {
    const content = Buffer.alloc(LIMIT, 'webhook ')
    const { got } = await through(github, webhook(bodyOf(content), signedBy(SECRET, content)))
    assert.ok(got?.content.equals(content))
    const larger = Buffer.alloc(LIMIT + 1, 'webhook ')
    for (const framing of [undefined, { kind: 'chunked' } as const]) {
      const { reply, got: nothing } = await through(
        github,
        webhook(bodyOf(larger, framing), signedBy(SECRET, larger)),
      )
      assert.equal(reply.head.status, 413)
      assert.equal(reply.refusal, 'webhook_too_large')
      assert.equal(nothing, undefined)
    }
  })

  test('sends 100 Continue once', async () => {
    const reported: number[] = []
    const fields = `Expect: 100-continue\r\n${signedBy(SECRET, CONTENT)}`
    const exchange = {
      ...webhook(bodyOf(CONTENT), fields, true),
      sendInformational: ({ status }: { status: number }) => void reported.push(status),
    }
    const { got } = await through(github, exchange)
    assert.deepEqual(reported, [100])
    assert.equal(got?.exchange.head.fields.get('expect'), undefined)
  })

  test('sends no 100 Continue for content that is too long', async () => {
    const reported: number[] = []
    const body: Body = { ...bodyOf(CONTENT), framing: { kind: 'length', length: LIMIT + 1 } }
    const exchange = {
      ...webhook(body, '', true),
      sendInformational: ({ status }: { status: number }) => void reported.push(status),
    }
    assert.equal((await through(github, exchange)).reply.head.status, 413)
    assert.deepEqual(reported, [])
  })

  test('ends a request whose content is cut short', async () => {
    const body: Body = {
      ...bodyOf(CONTENT),
      framing: { kind: 'length', length: 100 },
      read: sink => {
        sink.data(CONTENT)
        sink.fail(new Error('gone'))
      },
    }
    const { reply, got } = await through(github, webhook(body, signedBy(SECRET, CONTENT)))
    assert.equal(reply.head.status, 400)
    assert.equal(got, undefined)
  })

  test('answers challenges itself', async () => {
    const asked = request()
    const exchange = { ...asked, head: { ...asked.head, target: '/a?crc_token=abc' } }
    const { reply, got } = await through(fromRecord('Twitter'), exchange)
    assert.equal(got, undefined)
    assert.equal(reply.head.status, 200)
    assert.equal(reply.head.fields.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(reply.refusal, undefined)
  })

  test('responds to xero with 401 when an intent is not signed, and counts it as refused', async () => {
    const { reply } = await through(fromRecord('xero'), webhook(bodyOf(Buffer.from('{"events":[]}')), ''))
    assert.equal(reply.head.status, 401)
    assert.deepEqual(reply.body.framing, { kind: 'length', length: 0 })
    assert.equal(reply.refusal, 'webhook_refused')
  })
})

/** A secret of the form that each sender gives them. */
function secretOf(provider: string): string {
  if (provider === 'sns') return ''
  if (provider === 'vmware') return 'user::password'
  if (provider !== 'sendgrid') return Buffer.from('any 24 bytes of a secret').toString('base64')
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  return publicKey.export({ format: 'der', type: 'spki' }).toString('base64')
}

suite('the module for webhooks', () => {
  test('is accepted by the API and can be built for every sender, in any case', async () => {
    for (const provider of Object.keys(senders))
      for (const name of [provider, provider.toUpperCase()]) {
        checkWebhookVerification({ provider: name, secret: secretOf(provider) })
        const handler = fromRecord(name, secretOf(provider))
        assert.equal((await through(handler, webhook(bodyOf(CONTENT), ''))).reply.head.status, 403, name)
        assert.ok(fromAgent({ provider: name, secret: secretOf(provider) }))
      }
  })

  test('is not built for a sender that is unknown or a secret that cannot be used', () => {
    for (const [provider, secret, reason] of [
      ['unknown', 'x', `"unknown" is not a supported sender; use one of ${Object.keys(senders).join(', ')}`],
      [
        'toString',
        'x',
        `"toString" is not a supported sender; use one of ${Object.keys(senders).join(', ')}`,
      ],
      ['githbu', 'x', '"githbu" is not a supported sender; the most similar one is "github"'],
      ['github', '', 'a secret is required for github'],
      ['SNS', secretText('sns'), 'the secret must be absent: messages are signed with a public key'],
      ['vmware', secretText('no pair'), 'the secret must have the form username::password'],
    ] as const) {
      const record = (error: unknown): boolean => {
        assert.ok(error instanceof Problem)
        assert.equal(error.code, 'module_unusable')
        assert.equal(error.message, `The module webhook_verification cannot be used: ${reason}.`)
        return true
      }
      assert.throws(() => fromRecord(provider, secret), record)
      assert.throws(() => fromAgent({ provider, secret }), { code: 'bind_option' })
    }
  })

  test('takes from agents what they send, and no sealed secret', async () => {
    for (const sealed of [undefined, null, '', []]) {
      const handler = fromAgent({ Provider: 'github', secret: SECRET, sealed_secret: sealed })
      const { reply } = await through(handler, webhook(bodyOf(CONTENT), signedBy(SECRET, CONTENT)))
      assert.equal(reply.head.status, 200)
    }
    for (const given of [
      { provider: 'github', secret: SECRET, sealed_secret: 'AAAA' },
      { provider: 'github', secret: SECRET, sealed_secret: 7 },
      { provider: 'github', secret: 7 },
      { provider: 'github', secret: 'x'.repeat(5000) },
      {},
    ])
      assert.throws(() => fromAgent(given), { code: 'bind_option' })
  })
})
