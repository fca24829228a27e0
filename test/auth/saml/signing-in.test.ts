import assert from 'node:assert/strict'
import { X509Certificate, verify } from 'node:crypto'
import { suite, test } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { SignedXml } from 'xml-crypto'
import { ReplayGuard } from '#auth/saml/replay-guard.ts'
import type { SamlSettings } from '#auth/saml/service-provider.ts'
import { contentOf } from '../../http/pages/read-reply.ts'
import { signedResponse, EMAIL, metadataXml, responseXml } from './documents.ts'
import { REQUEST_ID, CONFIG, locationOf, fixturesWith, ROUTE, sharedKeys } from './support.ts'

const keys = await sharedKeys()
const { rigOf, sent } = fixturesWith(keys)

suite('signing in with SAML', () => {
  const ask = { callback: 'https://idp.example.test/oauth2/callback', state: 'the state', forceReauth: false }

  test('begins with a signed request that the provider can check', async () => {
    const rig = rigOf()
    const { url, memory } = await rig.method.begin(ask)
    const { origin, pathname, searchParams, search } = new URL(url)
    assert.equal(origin + pathname, 'https://login.example.org/sso')
    assert.equal(searchParams.get('RelayState'), 'the state')
    const [query = ''] = search.slice(1).split('&Signature=')
    const signature = Buffer.from(searchParams.get('Signature') ?? '', 'base64')
    assert.ok(
      verify('sha256', Buffer.from(query), new X509Certificate(keys.own.certificate).publicKey, signature),
    )
    const xml = inflateRawSync(Buffer.from(searchParams.get('SAMLRequest') ?? '', 'base64')).toString()
    assert.match(xml, new RegExp(`ID="${memory['request']}"`))
    assert.match(xml, /Destination="https:\/\/login\.example\.org\/sso"/)
    assert.match(xml, new RegExp(`AssertionConsumerServiceURL="${rig.service.acsUrl}"`))
    assert.match(xml, new RegExp(`<saml:Issuer[^>]*>${rig.service.entityId}</saml:Issuer>`))
    assert.doesNotMatch(xml, /ForceAuthn/)
  })

  test('requires new credentials where the user or the owner wants it', async () => {
    const requestIn = (url: string): string =>
      inflateRawSync(Buffer.from(new URL(url).searchParams.get('SAMLRequest') ?? '', 'base64')).toString()
    const again = await rigOf().method.begin({ ...ask, forceReauth: true })
    assert.match(requestIn(again.url), /ForceAuthn="true"/)
    const always = await rigOf({ force_authn: true }).method.begin(ask)
    assert.match(requestIn(always.url), /ForceAuthn="true"/)
  })

  test('does not take an old sign-in at the provider where the owner wants a new one', async () => {
    const rig = rigOf({ force_authn: true })
    assert.ok('user' in (await sent(rig)))
    assert.deepEqual(await sent(rig, { authenticated: -3600 }), { refused: 'saml_expired' })
    assert.ok('user' in (await sent(rigOf(), { authenticated: -3600 })))
  })

  test('keeps what is in the address of the provider', async () => {
    const signIn = { binding: 'HTTP-Redirect', url: 'https://login.example.org/sso?tenant=1' }
    const rig = rigOf({ idp_metadata: metadataXml({ keys: [keys.idp], signIn }) })
    const { url } = await rig.method.begin(ask)
    assert.match(url, /^https:\/\/login\.example\.org\/sso\?tenant=1&SAMLRequest=/)
  })

  test('sends a form to a provider that takes no redirect', async () => {
    const signIn = { binding: 'HTTP-POST', url: 'https://login.example.org/post' }
    const rig = rigOf({ idp_metadata: metadataXml({ keys: [keys.idp], signIn }) })
    const { url, memory } = await rig.method.begin({ ...ask, state: '"><script>' })
    assert.ok(url.startsWith(`${rig.service.entityId}/sso?request=`))
    const reply = await rig.get(new URL(url).pathname + new URL(url).search)
    const html = contentOf(reply)
    assert.match(html, /<form method="post" action="https:\/\/login\.example\.org\/post">/)
    assert.match(html, /name="RelayState" value="&quot;&gt;&lt;script&gt;"/)
    assert.match(
      reply.head.fields.get('content-security-policy') ?? '',
      /default-src 'none'; script-src 'sha256-/,
    )
    const xml = Buffer.from(/name="SAMLRequest" value="([^"]+)"/.exec(html)?.[1] ?? '', 'base64').toString()
    assert.match(xml, new RegExp(`ID="${memory['request']}"`))
    const check = new SignedXml({ publicCert: keys.own.certificate, getCertFromKeyInfo: () => null })
    check.loadSignature(/<ds:Signature .*<\/ds:Signature>/s.exec(xml)?.[0] ?? '')
    assert.ok(check.checkSignature(xml))
    assert.equal((await rig.get(`/saml/${ROUTE}/sso?request=made-up`)).refusal, 'saml_late')
  })

  test('identifies users by what the usual providers send', async () => {
    const claims = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims'
    const rig = rigOf()
    const outcome = await sent(rig, {
      nameId: 'a1b2',
      attributes: {
        [`${claims}/emailaddress`]: ['anna@example.test'],
        [`${claims}/givenname`]: ['Anna'],
        [`${claims}/surname`]: ['Alt'],
        uid: ['anna'],
      },
    })
    assert.deepEqual(outcome, {
      user: { id: 'a1b2', username: 'anna', email: 'anna@example.test', name: 'Anna Alt' },
    })
    const byName = await sent(rigOf({ nameid_format: EMAIL }), {
      nameId: 'anna@example.test',
      format: EMAIL,
      attributes: { displayName: ['Anna'] },
    })
    assert.deepEqual(byName, {
      user: {
        id: 'anna@example.test',
        username: 'anna@example.test',
        email: 'anna@example.test',
        name: 'Anna',
      },
    })
  })

  test('ends the session when the provider does', async () => {
    const rig = rigOf()
    const reply = await rig.acs(
      signedResponse(rig.service, keys.idp, { inResponseTo: REQUEST_ID, sessionUntil: 600 }),
      rig.state(),
    )
    const { parameters = new URLSearchParams() } = rig.handed(new URL(locationOf(reply))) ?? {}
    const { until = 0 } = await rig.method.finish({
      parameters,
      memory: { request: REQUEST_ID },
      callback: '',
    })
    assert.ok(Math.abs(until - Date.now() - 600_000) < 30_000)
  })

  test("shows the provider's status when the sign-in failed", async () => {
    const rig = rigOf()
    const status = 'urn:oasis:names:tc:SAML:2.0:status:Responder'
    const reply = await rig.acs(
      responseXml(rig.service, { inResponseTo: REQUEST_ID, status }, ''),
      rig.state(),
    )
    assert.equal(reply.refusal, 'saml_refused')
    assert.match(contentOf(reply), /"Responder"/)
    const evil = await rig.acs(
      responseXml(rig.service, { inResponseTo: REQUEST_ID, status: 'call +1 555' }, ''),
      rig.state(),
    )
    assert.doesNotMatch(contentOf(evil), /555/)
  })

  test('sessions are looked at again when another provider or rule is set', () => {
    const fingerprint = (changes: Partial<SamlSettings>) => rigOf(changes).method.fingerprint
    assert.equal(fingerprint({}), fingerprint({ cookie_prefix: 'x' }))
    assert.notEqual(fingerprint({}), fingerprint({ idp_metadata: metadataXml({ keys: [keys.older] }) }))
    assert.notEqual(fingerprint({}), fingerprint({ authorized_groups: ['ops'] }))
    assert.equal(
      fingerprint({ authorized_groups: ['a', 'b'] }),
      fingerprint({ authorized_groups: ['b', 'a'] }),
    )
  })

  test('cannot be built with metadata that allows no sign-in', () => {
    const good = metadataXml({ keys: [keys.idp] })
    const unusable = [
      metadataXml({ keys: [] }),
      metadataXml({ keys: [keys.idp], signIn: { binding: 'SOAP', url: 'https://x.test/' } }),
      metadataXml({ keys: [keys.idp], signIn: { binding: 'HTTP-Redirect', url: 'javascript:alert(1)' } }),
      good.replace('IDPSSODescriptor', 'SPSSODescriptor').replace('/md:IDPSSO', '/md:SPSSO'),
      good.replace(/entityID="[^"]*"/, 'entityID=""'),
      good.replace(/<ds:X509Certificate>.*?</, '<ds:X509Certificate>AAAA<'),
      good.replace('use="signing"', 'use="encryption"'),
      '<a/>',
      '<',
    ]
    for (const idp_metadata of unusable)
      assert.throws(() => rigOf({ idp_metadata }), { code: 'sign_in_unconfigured' })
    assert.ok(rigOf({ idp_metadata: `<!-- of 2024 -->${good}` }))
  })

  test('the central address serves the metadata that a provider needs', async () => {
    const rig = rigOf()
    const reply = await rig.get(`/saml/${ROUTE}`)
    const xml = contentOf(reply)
    assert.equal(reply.head.fields.get('content-type'), 'application/samlmetadata+xml')
    assert.match(xml, /entityID="https:\/\/idp\.example\.test\/saml\/edghtsrt_1"/)
    assert.match(
      xml,
      /AssertionConsumerService [^>]*Location="https:\/\/idp\.example\.test\/saml\/edghtsrt_1\/acs"/,
    )
    assert.match(
      xml,
      /SingleLogoutService [^>]*Location="https:\/\/idp\.example\.test\/saml\/edghtsrt_1\/slo"/,
    )
    assert.ok(xml.includes(keys.own.certificate.replace(/-----[A-Z ]+-----|\s/g, '')))
    assert.ok(!xml.includes('encryption'))
  })

  test('the central address answers nothing for what has no SAML', async () => {
    const rig = rigOf()
    for (const path of [
      `/saml/${CONFIG}`,
      '/saml/unknown',
      '/saml/',
      '/saml/edghts_1',
      '/saml/__proto__/acs',
    ])
      assert.equal((await rig.get(path)).refusal, 'saml_off', path)
    assert.equal((await rigOf({ enabled: false }).get(`/saml/${ROUTE}`)).refusal, 'saml_off')
    assert.equal((await rig.get(`/saml/${ROUTE}/acs`)).refusal, 'saml_method')
    assert.equal((await rig.post(`/saml/${ROUTE}/acs/x`, {})).refusal, 'saml_method')
  })

  test('a form must have one message', async () => {
    const rig = rigOf()
    const message = Buffer.from(signedResponse(rig.service, keys.idp, { inResponseTo: REQUEST_ID })).toString(
      'base64',
    )
    const state = rig.state()
    const twice = await rig.post(`/saml/${ROUTE}/acs`, [
      ['SAMLResponse', message],
      ['SAMLResponse', message],
      ['RelayState', state],
    ])
    assert.equal(twice.refusal, 'saml_unreadable')
    assert.equal((await rig.post(`/saml/${ROUTE}/acs`, { RelayState: state })).refusal, 'saml_unreadable')
    assert.equal(
      (await rig.post(`/saml/${ROUTE}/acs`, { SAMLResponse: 'a'.repeat(600_000) })).refusal,
      'saml_unreadable',
    )
  })

  test('what may be used once is remembered within bounds', () => {
    let now = 0
    const once = new ReplayGuard(() => now, 4)
    assert.ok(once.claim('realm', 'a', 10))
    assert.ok(!once.claim('realm', 'a', 10))
    assert.ok(once.claim('realm', 'b', 20))
    // Full: a rejected sign-in is better than a replayed one. But it is full for one realm, and not for another.
    assert.ok(!once.claim('realm', 'c', 20))
    assert.ok(once.claim('other', 'a', 10))
    now = 10
    assert.ok(once.claim('realm', 'c', 20))
    assert.ok(!once.claim('realm', 'b', 20))
  })
})
