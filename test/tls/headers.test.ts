import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { suite, test } from 'node:test'
import { chain } from '#gateway/routing/chain.ts'
import type { Exchange, Reply } from '#http/exchange.ts'
import type { ClientCertificate } from '#http/client-certificate.ts'
import { bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { mutualTlsModule } from '#gateway/modules/mutual-tls.ts'
import type { ModuleParts } from '#gateway/modules/module.ts'
import { bindOptions } from '#tunnel/messages.ts'
import { clientFacts } from '#pki/client-facts.ts'
import { request } from '../gateway/modules/support.ts'
import { authority, issueCertificate, type CertificateOptions } from './test-certificates.ts'

const parts = {} as ModuleParts
const onEdge = mutualTlsModule.fromRecord({}, { id: 'rt_1', edgeId: 'edge_1' }, parts)

const ann: ClientCertificate = {
  commonName: 'Ann',
  dnsNames: ['a.example', 'b.example'],
  emails: ['ann@a.example'],
  serialNumber: '0a1b',
  scope: 'edge_1',
  authorities: '',
  chain: [],
}

const from = (certificate: ClientCertificate | undefined, fields = ''): Exchange => {
  const exchange = request(fields)
  return { ...exchange, client: { ...exchange.client, ...(certificate && { certificate }) } }
}

/** What the service behind is sent; undefined when the request was refused. */
async function sent(
  exchange: Exchange,
  handler = onEdge,
): Promise<{ reply: Reply; fields: Fields | undefined }> {
  let fields: Fields | undefined
  const body = bodyOf(Buffer.from('ok'))
  const reply = await chain([handler], async ({ head }) => {
    fields = head.fields
    return { head: { status: 200, reason: 'OK', framing: body.framing, fields: Fields.none }, body }
  })(exchange)
  return { reply, fields }
}

/** The value that is sent of a certificate under both names, which must be the same. */
async function value(certificate: Partial<ClientCertificate>, name: string): Promise<string | undefined> {
  const { fields } = await sent(from({ ...ann, ...certificate }))
  const [ours, theirs] = ['adit', 'ngrok'].map(prefix => fields?.all(`${prefix}-mtls-${name}`))
  assert.deepEqual(ours, theirs)
  assert.ok((ours?.length ?? 0) <= 1)
  return ours?.[0]
}

const factsOf = async (wish: CertificateOptions) => {
  const { pem } = await issueCertificate(wish)
  return clientFacts(new X509Certificate(pem))
}

suite('a service behind mutual TLS', () => {
  test('gets the identity of the client', async () => {
    const { reply, fields } = await sent(from(ann, 'Accept: */*\r\n'))
    assert.equal(reply.head.status, 200)
    assert.deepEqual(Object.fromEntries(fields?.entries() ?? []), {
      Accept: '*/*',
      'Adit-Mtls-Subject-Cn': 'Ann',
      'Adit-Mtls-Subject-Alt-Name-Dns': 'a.example,b.example',
      'Adit-Mtls-Email-Addresses': 'ann@a.example',
      'Adit-Mtls-Serial-Number': '0a1b',
      'Ngrok-Mtls-Subject-Cn': 'Ann',
      'Ngrok-Mtls-Subject-Alt-Name-Dns': 'a.example,b.example',
      'Ngrok-Mtls-Email-Addresses': 'ann@a.example',
      'Ngrok-Mtls-Serial-Number': '0a1b',
    })
  })

  test('SEC-07: does not get identity headers of the client, in any spelling', async () => {
    const claims = [
      'Adit-Mtls-Subject-Cn',
      'ADIT-MTLS-EMAIL-ADDRESSES',
      'adit_mtls_subject_cn',
      'Ngrok_Mtls-Serial_Number',
      'ngrok-mtls-anything-else',
      'ngrok.mtls.subject.cn',
      'adit~mtls`subject-cn',
    ]
    const lines = claims.map(name => `${name}: Eve\r\nX-Kept: 1\r\n`).join('')
    const { fields } = await sent(from({ ...ann, emails: [] }, `${lines}X-Adit-Mtls-Note: 1\r\n`))
    assert.doesNotMatch(String(fields?.text), /Eve/)
    assert.equal(fields?.all('x-kept').length, claims.length)
    assert.equal(fields?.get('x-adit-mtls-note'), '1')
    assert.equal(fields?.get('adit-mtls-email-addresses'), undefined)
    assert.equal(fields?.get('adit-mtls-subject-cn'), 'Ann')
  })

  test('gets names that cannot inject headers, and are distinct', async () => {
    const names = {
      'Ann\r\nX-Admin: 1': 'Ann%0D%0AX-Admin: 1',
      'Ann\0': 'Ann%00',
      ' Ann ': '%20Ann%20',
      '  Ann': '%20 Ann',
      'Ann%20': 'Ann%2520',
      'Jürgen 😀': 'J%C3%BCrgen %F0%9F%98%80',
      'Doe, Ann': 'Doe, Ann',
      '\tAnn\x7f': '%09Ann%7F',
    }
    for (const [commonName, expected] of Object.entries(names))
      assert.equal(await value({ commonName }, 'subject-cn'), expected)
    const emails = ['a@a.example', 'b@b.example,root@a.example', '"c d"@c.example']
    assert.equal(
      await value({ emails }, 'email-addresses'),
      'a@a.example,b@b.example%2Croot@a.example,"c%20d"@c.example',
    )
    assert.equal(
      await value({ dnsNames: ['*.a.example', 'b,c'] }, 'subject-alt-name-dns'),
      '*.a.example,b%2Cc',
    )
    assert.equal(await value({ commonName: '' }, 'subject-cn'), undefined)
  })

  test('gets no headers for a client without a certificate, or with one for others', async () => {
    for (const certificate of [undefined, { ...ann, scope: 'edge_2' }, { ...ann, scope: 'rt_1' }]) {
      const { reply, fields } = await sent(from(certificate))
      assert.equal(fields, undefined)
      assert.equal(reply.head.status, 403)
      assert.equal(reply.refusal, 'certificate_required')
      assert.equal(reply.head.fields.get('adit-error-code'), 'ERR_ADIT_90170')
    }
  })

  test('may be behind an agent that requested it, if the request is valid', async () => {
    const { pem } = await authority()
    const build = (MutualTLSCA: object) =>
      mutualTlsModule.fromAgent?.build(bindOptions({ MutualTLSCA }, ''), { id: 'tn_1' }, parts)
    const handler = build({ mutual_tls_ca: Buffer.from(pem).toString('base64') })
    assert.deepEqual(mutualTlsModule.fromAgent?.options, ['MutualTLSCA'])
    assert.equal((await sent(from(ann), handler)).fields, undefined)
    assert.ok((await sent(from({ ...ann, scope: 'tn_1' }), handler)).fields)
    assert.throws(() => build({}), { code: 'bind_option' })
  })
})

suite('the identity in a certificate', () => {
  test('is its last common name, its names, addresses and number', async () => {
    const facts = await factsOf({
      name: [{ CN: ['Group'] }, { O: ['Firm'] }, { CN: [{ utf8String: 'Ann, "the" #1 + one\\two\0' }] }],
      names: [
        { type: 'dns', value: 'a.example' },
        { type: 'email', value: 'ann@a.example' },
        { type: 'ip', value: '192.0.2.1' },
        { type: 'url', value: 'https://a.example/' },
        { type: 'dns', value: 'b.example\0.a.example' },
        { type: 'email', value: 'ann@b.example' },
      ],
      serial: '0ABC',
    })
    assert.deepEqual(facts, {
      commonName: 'Ann, "the" #1 + one\\two\0',
      dnsNames: ['a.example', 'b.example\0.a.example'],
      emails: ['ann@a.example', 'ann@b.example'],
      serialNumber: '0abc',
    })
  })

  test('may be very little, or in any script', async () => {
    const none = { commonName: '', dnsNames: [], emails: [], serialNumber: '01' }
    assert.deepEqual(await factsOf({ name: [{ O: ['Firm'] }], serial: '01' }), none)
    assert.equal((await factsOf({ name: 'Jürgen Ωμέγα 😀' })).commonName, 'Jürgen Ωμέγα 😀')
  })
})
