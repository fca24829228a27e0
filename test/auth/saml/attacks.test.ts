import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ErrorName } from '#base/errors.ts'
import {
  signedResponse,
  assertionXml,
  metadataXml,
  responseXml,
  signed,
  type AssertionOptions,
} from './documents.ts'
import { REQUEST_ID, SamlFixture, settingsOf, sharedKeys } from './support.ts'
import { assertionWrappings, responseWrappings, sameId } from './wrapping.ts'

const MORE = 'http://www.w3.org/2001/04/xmldsig-more#'
const XMLENC = 'http://www.w3.org/2001/04/xmlenc#'
const DSIG = 'http://www.w3.org/2000/09/xmldsig#'
const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#'
const INCLUSIVE = 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315'

const keys = await sharedKeys()
const rig = new SamlFixture(settingsOf(keys))

suite('documents of SAML', () => {
  const good = (wish: AssertionOptions = {}): string =>
    signedResponse(rig.service, keys.idp, { inResponseTo: REQUEST_ID, ...wish })
  const wholeSigned = (wish: AssertionOptions = {}): string => {
    const asked = { inResponseTo: REQUEST_ID, ...wish }
    const xml = responseXml(rig.service, asked, assertionXml(rig.service, asked))
    return signed(xml, { by: keys.idp, over: 'Response' })
  }
  const enters = async (xml: string, id = 'anna'): Promise<void> => {
    const outcome = await rig.outcome(xml, REQUEST_ID)
    assert.ok('user' in outcome, `refused: ${JSON.stringify(outcome)}`)
    assert.equal(outcome.user.id, id)
  }
  const refused = async (xml: string, why: ErrorName): Promise<void> =>
    assert.deepEqual(await rig.outcome(xml, REQUEST_ID), { refused: why })

  test('SAML-01 a signed assertion is accepted', () => enters(good()))
  test('SAML-01 an assertion in a signed response is accepted', () => enters(wholeSigned()))
  test('SAML-01 both may be signed', async () => {
    await enters(signed(good(), { by: keys.idp, over: 'Response' }))
  })
  test('SAML-01 both signatures must be good then', async () => {
    await refused(signed(good(), { by: keys.stranger, over: 'Response' }), 'saml_signature')
    const inner = signedResponse(rig.service, keys.stranger, { inResponseTo: REQUEST_ID })
    await refused(signed(inner, { by: keys.idp, over: 'Response' }), 'saml_signature')
  })
  test('SAML-01 prefixes in scope may be part of what is signed', async () => {
    const asked = { inResponseTo: REQUEST_ID }
    const xml = responseXml(rig.service, asked, assertionXml(rig.service, asked))
    await enters(signed(xml, { by: keys.idp, prefixes: ['samlp', 'xs', '#default'] }))
  })

  test('SAML-02 nothing that is not signed is accepted', async () => {
    const asked = { inResponseTo: REQUEST_ID }
    await refused(responseXml(rig.service, asked, assertionXml(rig.service, asked)), 'saml_signature')
    await refused(responseXml(rig.service, asked, ''), 'saml_unreadable')
    await refused(good().replace(/<ds:Signature .*?<\/ds:Signature>/s, ''), 'saml_signature')
    await refused(good().replace(/<ds:SignatureValue>[^<]*/, '<ds:SignatureValue>'), 'saml_unreadable')
  })

  test('SAML-03 the key must be the one in the metadata, whatever certificate the document brings', async () => {
    await refused(signedResponse(rig.service, keys.stranger, { inResponseTo: REQUEST_ID }), 'saml_signature')
    assert.match(signedResponse(rig.service, keys.stranger), /X509Certificate/)
  })

  test('SAML-04 what was changed after it was signed is refused', async () => {
    await refused(good().replace('>anna<', '>admin<'), 'saml_signature')
    await refused(wholeSigned().replace('>anna<', '>admin<'), 'saml_signature')
    await refused(
      good().replace(/IssueInstant="[^"]*"><saml:Issuer/, 'IssueInstant="2020-01-01T00:00:00Z"><saml:Issuer'),
      'saml_signature',
    )
    await refused(good().replace(/<ds:DigestValue>..../, '<ds:DigestValue>AAAA'), 'saml_signature')
    await refused(
      wholeSigned().replace(/Destination="[^"]*"/, 'Destination="https://x.test/"'),
      'saml_signature',
    )
  })

  test('SAML-05 comments, instructions and sections that split a text are refused', async () => {
    const whole = good({ nameId: 'admin@example.test.evil.test' })
    for (const split of ['<!---->', '<?x y?>', '<![CDATA[]]>']) {
      // Canonical form leaves comments out, so the signature stays good.
      const parted = whole.replace('admin@example.test.evil', name => name.replace('.evil', `${split}.evil`))
      assert.ok(parted.includes(split))
      await refused(parted, 'saml_unreadable')
    }
  })

  for (const [name, wrap] of Object.entries(responseWrappings)) {
    test(`SAML-06 ${name} is refused`, async () => {
      const xml = wrap(wholeSigned())
      assert.match(xml, />admin<.*>anna<|>anna<.*>admin</s)
      await refused(xml, 'saml_unreadable')
    })
  }

  for (const [name, wrap] of Object.entries(assertionWrappings)) {
    const number = /XSW[78]/.test(name) ? 'SAML-08' : 'SAML-07'
    test(`${number} ${name} is refused`, async () => {
      const xml = wrap(good())
      assert.match(xml, />admin<.*>anna<|>anna<.*>admin</s)
      await refused(xml, 'saml_unreadable')
    })
  }

  test('SAML-07 a signature over another element than its parent is refused', async () => {
    const xml = good()
    const renamed = xml.replace(/(<saml:Assertion [^>]*ID=")[^"]+/, '$1_other')
    await refused(renamed, 'saml_signature')
    const asked = { inResponseTo: REQUEST_ID }
    const whole = signed(assertionXml(rig.service, asked), { by: keys.idp, wholeDocument: true })
    assert.match(whole, /<ds:Reference URI="">/)
    await refused(responseXml(rig.service, asked, whole), 'saml_signature')
  })

  test('SAML-09 two assertions, or two elements of one ID, are refused', async () => {
    const asked = { inResponseTo: REQUEST_ID }
    const one = signed(assertionXml(rig.service, asked), { by: keys.idp })
    const two = signed(assertionXml(rig.service, { ...asked, nameId: 'bert' }), { by: keys.idp })
    await refused(responseXml(rig.service, asked, one + two), 'saml_unreadable')
    await refused(sameId(good()), 'saml_unreadable')
    await refused(good({ id: '_same', responseId: '_same' }), 'saml_unreadable')
  })

  test('SAML-10 document types and entities are refused', async () => {
    const bomb = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    await refused(bomb + good(), 'saml_unreadable')
    await refused(`<!DOCTYPE r SYSTEM "file:///etc/passwd">${good()}`, 'saml_unreadable')
    await refused(`<?xml version="1.0"?>\n${bomb}${good()}`, 'saml_unreadable')
    await refused(good().replace('>anna<', '>&b;<'), 'saml_unreadable')
  })

  test('SAML-11 a comment in the digest is refused, and so is all that makes a signature unusual', async () => {
    const xml = good()
    await refused(xml.replace('<ds:DigestValue>', '<ds:DigestValue><!--AAAA-->'), 'saml_unreadable')
    const info = /<ds:SignedInfo>.*?<\/ds:SignedInfo>/s.exec(xml)?.[0] ?? ''
    const reference = /<ds:Reference .*?<\/ds:Reference>/s.exec(xml)?.[0] ?? ''
    await refused(
      xml.replace(info, () => info + info),
      'saml_signature',
    )
    await refused(
      xml.replace(reference, () => reference + reference),
      'saml_signature',
    )
    await refused(
      xml.replace(info, () => info.replace('<ds:DigestValue>', '<ds:DigestValue><x>AAAA</x>')),
      'saml_signature',
    )
  })

  test('SAML-11 other transforms and canonicalizations are refused though the signature is good', async () => {
    const asked = { inResponseTo: REQUEST_ID }
    const by = keys.idp
    const plain = assertionXml(rig.service, asked)
    const sent = (xml: string) => refused(responseXml(rig.service, asked, xml), 'saml_signature')
    await sent(signed(plain, { by, transforms: [EXCLUSIVE] }))
    await sent(signed(plain, { by, transforms: [`${DSIG}enveloped-signature`] }))
    await sent(signed(plain, { by, transforms: [`${DSIG}enveloped-signature`, INCLUSIVE] }))
    await sent(signed(plain, { by, canonicalization: INCLUSIVE }))
  })

  test('SAML-12 assertions count only in their time, give or take a minute', async () => {
    await enters(good({ until: -50 }))
    await enters(good({ from: 50 }))
    await refused(good({ until: -70 }), 'saml_expired')
    await refused(good({ from: 70 }), 'saml_expired')
    await refused(good({ issued: 120 }), 'saml_expired')
    await refused(good({ sessionUntil: -70 }), 'saml_expired')
  })

  test('SAML-13 a response for another recipient, or from another issuer, is refused', async () => {
    await refused(good({ audience: 'https://other.test/' }), 'saml_not_for_us')
    await refused(good({ recipient: 'https://other.test/' }), 'saml_not_for_us')
    await refused(good({ destination: 'https://other.test/' }), 'saml_not_for_us')
    await refused(good({ issuer: 'https://other.test/' }), 'saml_not_for_us')
    await refused(good({ confirmation: 'urn:oasis:names:tc:SAML:2.0:cm:sender-vouches' }), 'saml_not_for_us')
    await refused(good({ conditions: '<saml:Condition/>' }), 'saml_not_for_us')
    const elsewhere = { entityId: `${rig.service.entityId}x`, acsUrl: rig.service.acsUrl }
    await refused(signedResponse(elsewhere, keys.idp, { inResponseTo: REQUEST_ID }), 'saml_not_for_us')
  })

  test('SAML-14 encrypted assertions are refused with a page that has the reason', async () => {
    const data = `<xenc:EncryptedData xmlns:xenc="${XMLENC}"><xenc:CipherData><xenc:CipherValue>AAAA</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData>`
    const asked = { inResponseTo: REQUEST_ID }
    const SAML = 'xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'
    const encrypted = `<saml:EncryptedAssertion ${SAML}>${data}</saml:EncryptedAssertion>`
    await refused(responseXml(rig.service, asked, encrypted), 'saml_encrypted')
    const both = responseXml(
      rig.service,
      asked,
      signed(assertionXml(rig.service, asked), { by: keys.idp }) + encrypted,
    )
    await refused(both, 'saml_encrypted')
    const id = assertionXml(rig.service, asked).replace(
      /<saml:NameID.*<\/saml:NameID>/,
      `<saml:EncryptedID>${data}</saml:EncryptedID>`,
    )
    await refused(responseXml(rig.service, asked, signed(id, { by: keys.idp })), 'saml_encrypted')
    const attribute = assertionXml(rig.service, asked).replace(
      '</saml:Assertion>',
      `<saml:AttributeStatement><saml:EncryptedAttribute>${data}</saml:EncryptedAttribute></saml:AttributeStatement></saml:Assertion>`,
    )
    await refused(responseXml(rig.service, asked, signed(attribute, { by: keys.idp })), 'saml_encrypted')
  })

  test('SAML-20 each of several keys in the metadata counts, and no other', async () => {
    const two = settingsOf(keys, { idp_metadata: metadataXml({ keys: [keys.older, keys.idp, keys.curve] }) })
    const other = new SamlFixture(two)
    for (const by of [keys.idp, keys.older]) {
      const outcome = await other.outcome(
        signedResponse(other.service, by, { inResponseTo: REQUEST_ID }),
        REQUEST_ID,
      )
      assert.ok('user' in outcome)
    }
    const stranger = signedResponse(other.service, keys.stranger, { inResponseTo: REQUEST_ID })
    assert.deepEqual(await other.outcome(stranger, REQUEST_ID), { refused: 'saml_signature' })
  })

  test('SAML-20 SHA-1 and keys of another kind are refused; RSA and ECDSA with SHA-2 count', async () => {
    const asked = { inResponseTo: REQUEST_ID }
    const other = new SamlFixture(
      settingsOf(keys, { idp_metadata: metadataXml({ keys: [keys.idp, keys.curve] }) }),
    )
    const sent = (signing: Partial<Parameters<typeof signed>[1]>) => {
      const assertion = signed(assertionXml(other.service, asked), { by: keys.idp, ...signing })
      return other.outcome(responseXml(other.service, asked, assertion), REQUEST_ID)
    }
    for (const name of ['rsa-sha256', 'rsa-sha384', 'rsa-sha512'])
      assert.ok('user' in (await sent({ algorithm: MORE + name })), name)
    for (const name of ['ecdsa-sha256', 'ecdsa-sha384', 'ecdsa-sha512'])
      assert.ok('user' in (await sent({ algorithm: MORE + name, by: keys.curve })), name)
    assert.ok('user' in (await sent({ digest: `${XMLENC}sha512` })))
    const no = { refused: 'saml_signature' }
    assert.deepEqual(await sent({ algorithm: `${DSIG}rsa-sha1` }), no)
    assert.deepEqual(await sent({ digest: `${DSIG}sha1` }), no)
  })

  test('what would make a parser work for long is refused before it is parsed', async () => {
    const deep = good().replace(
      '<samlp:Status>',
      `${'<a xmlns:b="c">'.repeat(5000)}${'</a>'.repeat(5000)}<samlp:Status>`,
    )
    await refused(deep, 'saml_unreadable')
    const wide = Array.from({ length: 20_000 }, (_, at) => ` a${at}=""`).join('')
    await refused(good().replace('<samlp:Status>', `<a${wide}/><samlp:Status>`), 'saml_unreadable')
    await refused(good({ nameId: 'a'.repeat(300_000) }), 'saml_unreadable')
    await refused('', 'saml_unreadable')
    await refused('<', 'saml_unreadable')
    await refused('<samlp:Response/>', 'saml_unreadable')
  })
})
