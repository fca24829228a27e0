import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Problem } from '#base/errors.ts'
import { agentAuthorities, tunnelTlsConfig } from '#tls/agent-authorities.ts'
import { edgeTlsConfig, endsAtEdge, type TlsModules } from '#tls/edge-tls-config.ts'
import { bindOptions } from '#tunnel/messages.ts'
import { authority, issueCertificate } from './test-certificates.ts'

const [one, two, leaf] = await Promise.all([authority(), authority(), issueCertificate()])
const kept = new Map([
  ['ca_1', one.pem],
  ['ca_2', `A comment.\n${two.pem}\nAnother one.`],
  ['ca_leaf', leaf.pem],
  ['ca_both', one.pem + two.pem],
  ['ca_key', one.keyPem],
  ['ca_none', ''],
])
const pemOf = (id: string) => kept.get(id)

type MutualTls = NonNullable<TlsModules['mutual_tls']>
type Termination = NonNullable<TlsModules['tls_termination']>
const mutual = (...ids: string[]): MutualTls => ({ enabled: true, certificate_authorities: ids })
const termination = (more: Partial<Termination> = {}): Termination => ({
  enabled: true,
  terminate_at: 'edge',
  min_version: null,
  ...more,
})

suite('the TLS configuration of an edge', () => {
  test('is the default if nothing is configured', () => {
    assert.deepEqual(edgeTlsConfig({}, pemOf, 'edge'), {})
    assert.deepEqual(edgeTlsConfig({ mutual_tls: null, tls_termination: null }, pemOf, 'edge'), {})
  })

  test('has the listed authorities, without the text around them, and the edge', () => {
    const { clients } = edgeTlsConfig({ mutual_tls: mutual('ca_1', 'ca_2') }, pemOf, 'edge')
    assert.deepEqual(clients, { authorities: one.pem + two.pem, scope: 'edge' })
  })

  test('leaves out what is disabled', () => {
    const modules = {
      mutual_tls: { ...mutual('ca_1'), enabled: false },
      tls_termination: termination({ enabled: false, min_version: '1.3' }),
    }
    assert.deepEqual(edgeTlsConfig(modules, pemOf, 'edge'), {})
  })

  test('never allows less than TLS 1.2', () => {
    for (const [min_version, expected] of [
      [null, undefined],
      ['1.0', undefined],
      ['1.1', undefined],
      ['1.2', undefined],
      ['1.3', 'TLSv1.3'],
    ] as const) {
      const { minVersion } = edgeTlsConfig({ tls_termination: termination({ min_version }) }, pemOf, 'edge')
      assert.equal(minVersion, expected, String(min_version))
    }
  })

  for (const ids of [
    [],
    ['ca_gone'],
    ['ca_1', 'ca_gone'],
    ['ca_leaf'],
    ['ca_both'],
    ['ca_key'],
    ['ca_none'],
  ]) {
    test(`is invalid with the authorities [${ids.join(', ')}]`, () => {
      assert.throws(() => edgeTlsConfig({ mutual_tls: mutual(...ids) }, pemOf, 'edge'), Problem)
    })
  }

  test('is invalid where TLS is terminated elsewhere', () => {
    for (const terminate_at of ['agent', 'upstream'] as const) {
      const tls_termination = termination({ terminate_at })
      assert.throws(() => edgeTlsConfig({ tls_termination }, pemOf, 'edge'), { code: 'module_unusable' })
    }
  })

  test('has whether TLS is terminated at the edge', () => {
    assert.equal(endsAtEdge({}), false)
    assert.equal(endsAtEdge({ tls_termination: null }), false)
    assert.equal(endsAtEdge({ tls_termination: termination() }), true)
    assert.equal(endsAtEdge({ tls_termination: termination({ enabled: false }) }), false)
    assert.equal(endsAtEdge({ tls_termination: termination({ terminate_at: 'upstream' }) }), false)
    assert.equal(endsAtEdge({ tls_termination: termination({ terminate_at: 'agent' }) }), false)
  })

  test('is invalid where TLS is passed through and client certificates are required', () => {
    const mutual_tls = mutual('ca_1')
    assert.equal(endsAtEdge({ mutual_tls, tls_termination: termination() }), true)
    assert.equal(endsAtEdge({ mutual_tls: { ...mutual_tls, enabled: false } }), false)
    for (const tls_termination of [
      null,
      termination({ enabled: false }),
      termination({ terminate_at: 'upstream' }),
    ])
      assert.throws(() => endsAtEdge({ mutual_tls, tls_termination }), { code: 'needs_termination' })
  })
})

suite('the authorities of an agent', () => {
  const asked = (opts: object) => agentAuthorities(bindOptions(opts, ''))
  const ca = (...pems: string[]) => ({ mutual_tls_ca: Buffer.from(pems.join('')).toString('base64') })

  test('are absent if none are requested', () => {
    assert.equal(asked({}), undefined)
    assert.equal(asked({ MutualTLSCA: null, MutualTLSAtEdge: null, TLSTermination: {} }), undefined)
  })

  test('are parsed for HTTPS and for TLS', () => {
    assert.equal(asked({ MutualTLSCA: ca(one.pem) }), one.pem)
    assert.equal(asked({ MutualTLSCA: ca('A comment.\n', one.pem, two.pem) }), one.pem + two.pem)
    assert.equal(asked({ MutualTLSAtEdge: ca(two.pem), TLSTermination: {} }), two.pem)
  })

  const bad: Readonly<Record<string, object>> = {
    'nothing at all': { MutualTLSCA: {} },
    'an empty text': { MutualTLSCA: { mutual_tls_ca: '' } },
    'no PEM': { MutualTLSCA: ca('nonsense') },
    'a number': { MutualTLSCA: { mutual_tls_ca: 7 } },
    'a key': { MutualTLSCA: ca(one.pem, one.keyPem) },
    'a certificate that is no authority': { MutualTLSCA: ca(one.pem, leaf.pem) },
    'a certificate that is cut short': { MutualTLSCA: ca(one.pem.slice(0, 200)) },
    'eleven of them': { MutualTLSCA: ca(...Array.from({ length: 11 }, () => one.pem)) },
    'too much text': { MutualTLSCA: { mutual_tls_ca: 'A'.repeat(100_000) } },
    'TLS that is passed on': { MutualTLSAtEdge: ca(one.pem) },
    'both of the options': { MutualTLSCA: ca(one.pem), MutualTLSAtEdge: ca(one.pem), TLSTermination: {} },
  }
  for (const [what, opts] of Object.entries(bad)) {
    test(`are refused with ${what}`, () => {
      assert.throws(() => asked(opts), { code: 'bind_option' })
    })
  }

  test('do not replace those of an endpoint configuration', () => {
    const options = bindOptions({ MutualTLSCA: ca(one.pem) }, '')
    const clients = { authorities: one.pem, scope: 'tunnel' }
    const minVersion = 'TLSv1.3'
    assert.deepEqual(tunnelTlsConfig({ minVersion }, options, 'tunnel'), { minVersion, clients })
    assert.deepEqual(tunnelTlsConfig({ minVersion, clients }, bindOptions({}, ''), 'tunnel'), {
      minVersion,
      clients,
    })
    assert.deepEqual(tunnelTlsConfig({ clients }, options, 'tunnel'), { clients })
    const others = { authorities: two.pem, scope: 'tunnel' }
    assert.throws(() => tunnelTlsConfig({ clients: others }, options, 'tunnel'), { code: 'module_unusable' })
  })
})
