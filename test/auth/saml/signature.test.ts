import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { suite, test } from 'node:test'
import { SignedXml } from 'xml-crypto'
import { canonical } from '#auth/saml/canonical.ts'
import { signedXml } from '#auth/saml/sign.ts'
import { signatureIn, verified } from '#auth/saml/signature.ts'
import { type Element, readMessage, within } from '#auth/saml/xml.ts'
import { signedResponse, assertionXml, responseXml, signed } from './documents.ts'
import { SamlFixture, settingsOf, sharedKeys } from './support.ts'
import { assertionWrappings, responseWrappings, sameId } from './wrapping.ts'

const keys = await sharedKeys()
const rig = new SamlFixture(settingsOf(keys))

suite('what is read under a signature', () => {
  const trusted = () => [new X509Certificate(keys.idp.certificate).publicKey]

  /** Everything that some signature in a document vouches for. */
  const vouchedFor = (xml: string): Element[] =>
    [...within(readMessage(xml))].flatMap(element => {
      try {
        const signature = signatureIn(element)
        return signature ? [verified(element, signature, trusted())] : []
      } catch {
        return []
      }
    })

  // The second line of defence: these documents are refused for their form already.
  test('is never what was wrapped around it', () => {
    const whole = responseXml(rig.service, {}, assertionXml(rig.service, {}))
    const documents = [
      ...Object.values(responseWrappings).map(wrap =>
        wrap(signed(whole, { by: keys.idp, over: 'Response' })),
      ),
      ...Object.values(assertionWrappings).map(wrap => wrap(signedResponse(rig.service, keys.idp))),
      sameId(signedResponse(rig.service, keys.idp)),
    ]
    for (const xml of documents) {
      assert.match(xml, /admin/)
      for (const element of vouchedFor(xml)) assert.doesNotMatch(canonical(element), /admin/)
    }
  })

  test('is found where nothing is wrong', () => {
    const [element] = vouchedFor(signedResponse(rig.service, keys.idp))
    assert.ok(element)
    assert.match(canonical(element), />anna</)
    assert.doesNotMatch(canonical(element), /Signature/)
  })

  test('our own signatures are those that others verify', () => {
    const xml = signedXml(responseXml(rig.service, { responseId: '_x' }, ''), '_x', keys.own.key)
    const check = new SignedXml({ publicCert: keys.own.certificate, getCertFromKeyInfo: () => null })
    check.loadSignature(/<ds:Signature .*<\/ds:Signature>/s.exec(xml)?.[0] ?? '')
    assert.ok(check.checkSignature(xml))
  })
})
