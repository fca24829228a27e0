import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { suite, test } from 'node:test'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Reply } from '#http/exchange.ts'
import type { SourceRow } from '#registry/records/source.ts'
import { type Identity } from '../../support/openssl.ts'
import { contentOf } from '../../http/pages/read-reply.ts'
import { after, metadataXml, PROVIDER, signed } from './documents.ts'
import { locationOf, SamlFixture, ROUTE, row, settingsOf, sharedKeys } from './support.ts'

const RSA_SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'

interface Wish {
  readonly nameId?: string
  readonly destination?: string
  readonly issuer?: string
  readonly issued?: number
  readonly until?: number
}

const user = (id: string, name: string, url = PROVIDER): SourceRow =>
  row('application_user', id, { provider_user_id: name, identity_provider: { name: 'saml', url } })
const session = (id: string, userId: string, url: string, route: string | null = ROUTE): SourceRow =>
  row('application_session', id, { application_user: userId, public_url: url, route })

const keys = await sharedKeys()

suite('signing out at a SAML provider', () => {
  const rows = [
    user('au_1', 'anna'),
    user('au_2', 'bert'),
    user('au_3', 'anna', 'https://other.test/'),
    session('as_1', 'au_1', 'https://app.example.test'),
    session('as_2', 'au_1', 'https://a.wild.test'),
    session('as_3', 'au_1', 'https://conf.example.test', null),
    session('as_4', 'au_2', 'https://app.example.test'),
    session('as_5', 'au_3', 'https://app.example.test'),
    session('as_6', 'au_1', 'https://app.example.test', 'edghtsrt_2'),
  ]

  const rigWith = (signOut?: { binding: string; url: string }): SamlFixture =>
    new SamlFixture(
      settingsOf(keys, { idp_metadata: metadataXml({ keys: [keys.idp], ...(signOut && { signOut }) }) }),
      { rows },
    )
  const redirecting = () => rigWith({ binding: 'HTTP-Redirect', url: 'https://login.example.org/slo' })

  const logoutXml = (rig: SamlFixture, wish: Wish = {}): string =>
    '<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ' +
    `ID="_l1" Version="2.0" IssueInstant="${after(wish.issued ?? 0)}" NotOnOrAfter="${after(wish.until ?? 60)}" ` +
    `Destination="${wish.destination ?? rig.service.sloUrl}"><saml:Issuer>${wish.issuer ?? PROVIDER}</saml:Issuer>` +
    `<saml:NameID>${wish.nameId ?? 'anna'}</saml:NameID><samlp:SessionIndex>s1</samlp:SessionIndex></samlp:LogoutRequest>`

  const byRedirect = (
    rig: SamlFixture,
    xml: string,
    by: Identity = keys.idp,
    change = (query: string) => query,
  ): Promise<Reply> => {
    const message = encodeURIComponent(deflateRawSync(xml).toString('base64'))
    const query = `SAMLRequest=${message}&RelayState=back%20to&SigAlg=${encodeURIComponent(RSA_SHA256)}`
    const signature = sign('sha256', Buffer.from(query), by.key).toString('base64')
    return rig.get(`/saml/${ROUTE}/slo?${change(`${query}&Signature=${encodeURIComponent(signature)}`)}`)
  }
  const byForm = (rig: SamlFixture, xml: string): Promise<Reply> =>
    rig.post(`/saml/${ROUTE}/slo`, { SAMLRequest: Buffer.from(xml).toString('base64') })

  test('ends the sessions of that user at that route and no other, and responds to the provider', async () => {
    const rig = redirecting()
    const reply = await byRedirect(rig, logoutXml(rig))
    assert.deepEqual(rig.ended.toSorted(), ['as_1', 'as_2'])
    const url = new URL(locationOf(reply))
    assert.equal(url.origin + url.pathname, 'https://login.example.org/slo')
    assert.equal(url.searchParams.get('RelayState'), 'back to')
    const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLResponse') ?? '', 'base64')).toString()
    assert.match(xml, /<samlp:LogoutResponse [^>]*InResponseTo="_l1"/)
    assert.match(xml, /status:Success/)
    assert.ok(url.searchParams.get('Signature'))
  })

  test('takes forms, and responds with one where the provider requires it', async () => {
    const rig = rigWith({ binding: 'HTTP-POST', url: 'https://login.example.org/slo' })
    const reply = await byForm(rig, signed(logoutXml(rig), { by: keys.idp, over: 'LogoutRequest' }))
    assert.deepEqual(rig.ended.toSorted(), ['as_1', 'as_2'])
    assert.match(
      contentOf(reply),
      /action="https:\/\/login\.example\.org\/slo">\n<input [^>]*name="SAMLResponse"/,
    )
  })

  test('shows a page of its own where the provider wants no response', async () => {
    const rig = rigWith()
    const reply = await byRedirect(rig, logoutXml(rig))
    assert.equal(reply.head.status, 200)
    assert.match(contentOf(reply), /signed out/i)
  })

  test('ends nothing for senders other than the provider', async () => {
    const rig = redirecting()
    const code = async (reply: Promise<Reply>) => (await reply).refusal
    assert.equal(await code(byRedirect(rig, logoutXml(rig), keys.stranger)), 'saml_signature')
    assert.equal(
      await code(byRedirect(rig, logoutXml(rig), keys.idp, query => query.replace('to', 'ta'))),
      'saml_signature',
    )
    assert.equal(
      await code(byRedirect(rig, logoutXml(rig), keys.idp, query => `${query}&RelayState=x`)),
      'saml_unreadable',
    )
    assert.equal(
      await code(byRedirect(rig, logoutXml(rig), keys.idp, query => query.replace(/&SigAlg.*/, ''))),
      'saml_signature',
    )
    assert.equal(await code(byForm(rig, logoutXml(rig))), 'saml_signature')
    const changed = signed(logoutXml(rig), { by: keys.idp, over: 'LogoutRequest' }).replace(
      '>anna<',
      '>bert<',
    )
    assert.equal(await code(byForm(rig, changed)), 'saml_signature')
    assert.equal(
      await code(byRedirect(rig, logoutXml(rig, { issuer: 'https://other.test/' }))),
      'saml_not_for_us',
    )
    assert.equal(
      await code(byRedirect(rig, logoutXml(rig, { destination: 'https://other.test/' }))),
      'saml_not_for_us',
    )
    assert.equal(await code(byRedirect(rig, logoutXml(rig, { until: -70 }))), 'saml_expired')
    assert.equal(await code(byRedirect(rig, logoutXml(rig, { issued: -3600 }))), 'saml_expired')
    assert.equal(await code(byRedirect(rig, '<a/>')), 'saml_unreadable')
    assert.equal(await code(rig.get(`/saml/${ROUTE}/slo`)), 'saml_signature')
    assert.equal(await code(rig.post(`/saml/${ROUTE}/slo`, {})), 'saml_unreadable')
    assert.deepEqual(rig.ended, [])
  })

  test('rejects a message without a signature as not signed', async () => {
    const rig = redirecting()
    const cut = (pattern: RegExp) =>
      byRedirect(rig, logoutXml(rig), keys.idp, query => query.replace(pattern, ''))
    for (const reply of [
      await cut(/&SigAlg.*/),
      await cut(/&Signature.*/),
      await byForm(rig, logoutXml(rig)),
    ]) {
      assert.equal(reply.refusal, 'saml_signature')
      assert.match(contentOf(reply), /it is not signed/)
    }
    assert.match(contentOf(await cut(/&SigAlg=[^&]*/)), /does not name the algorithm/)
    const weak = await byRedirect(rig, logoutXml(rig), keys.idp, query => query.replace('sha256', 'sha1'))
    assert.match(contentOf(weak), /signature algorithm is not supported/)
    assert.deepEqual(rig.ended, [])
  })

  test('a message that unpacks to too much is refused', async () => {
    const rig = redirecting()
    assert.equal((await byRedirect(rig, ' '.repeat(1_000_000))).refusal, 'saml_unreadable')
  })
})
