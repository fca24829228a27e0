import { fail, Problem } from '#base/errors.ts'
import { type Accepted, answered, readAssertion } from '#auth/saml/assertion.ts'
import { ASSERTION, PROTOCOL, SUCCESS } from '#auth/saml/names.ts'
import type { SamlServiceProvider } from '#auth/saml/service-provider.ts'
import { signatureIn, SignatureFault, verified } from '#auth/saml/signature.ts'
import {
  allNamed,
  attribute,
  base64,
  type Element,
  isNamed,
  maybeOne,
  one,
  readMessage,
  textIn,
  within,
  XmlFault,
} from '#auth/saml/xml.ts'

const MAX_MESSAGE = 262_144
const STATUS = /^urn:oasis:names:tc:SAML:2\.0:status:(\w{1,40})$/

/** Parses and verifies a sign-in response from a form; throws a Problem with the reason. */
export function readResponse(encoded: string, service: SamlServiceProvider, now: number): Accepted {
  return checkedXml(() => {
    const response = readMessage(decodedText(base64(encoded)))
    if (!isNamed(response, PROTOCOL, 'Response')) unreadable('it is not a Response')
    rejectDisguises(response)
    refuseFailure(response)
    const { message, assertion } = signedParts(response, service)
    checkEnvelope(message, service, service.acsUrl)
    const accepted = readAssertion(assertion, service, now)
    if (answered(message) !== accepted.request)
      fail('saml_not_for_us', { reason: 'its InResponseTo attributes differ' })
    return accepted
  })
}

/** Runs XML code and turns its errors into Problems. */
export function checkedXml<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof Problem) throw error
    if (error instanceof SignatureFault) return fail('saml_signature', { reason: error.message })
    return unreadable(error instanceof XmlFault ? error.message : 'it cannot be read')
  }
}

const unreadable = (reason: string): never => fail('saml_unreadable', { reason })

const utf8 = new TextDecoder('utf-8', { fatal: true })

export function decodedText(bytes: Buffer): string {
  return bytes.length > MAX_MESSAGE ? unreadable('it is longer than 256 KiB') : utf8.decode(bytes)
}

/** Constructs that make two parsers see different messages. */
export function rejectDisguises(message: Element): void {
  const elements = within(message)
  if (elements.some(({ localName }) => localName?.startsWith('Encrypted'))) fail('saml_encrypted')
  const ids = elements.flatMap(({ attributes }) =>
    [...attributes].flatMap(({ localName, value }) => (localName?.toLowerCase() === 'id' ? value : [])),
  )
  if (new Set(ids).size < ids.length) unreadable('two of its elements have the same ID')
  if (elements.filter(({ localName }) => localName === 'Assertion').length > 1)
    unreadable('it has more than one assertion')
  // A signature is inside of what it signs: the message, or the assertion in it.
  const places = [message, ...allNamed(message, ASSERTION, 'Assertion')]
  const isAstray = ({ localName, parentNode }: Element): boolean =>
    localName === 'Signature' && places.every(place => place !== parentNode)
  if (elements.some(isAstray)) unreadable('a signature is in an unusual place')
}

function refuseFailure(response: Element): void {
  const status = one(one(response, PROTOCOL, 'Status'), PROTOCOL, 'StatusCode')
  if (attribute(status, 'Value') === SUCCESS) return
  // It is not verified yet, so only a value that looks like a standard status is shown.
  const [detail] = allNamed(status, PROTOCOL, 'StatusCode')
  const [, word] = STATUS.exec(attribute(detail ?? status, 'Value') ?? '') ?? []
  fail('saml_refused', { status: word ?? 'unknown' })
}

interface Signed {
  readonly message: Element
  readonly assertion: Element
}

/** The assertion as signed, by itself or with the message. All signatures present must be valid. */
function signedParts(response: Element, { provider }: SamlServiceProvider): Signed {
  const given = one(response, ASSERTION, 'Assertion')
  const [around, inside] = [signatureIn(response), signatureIn(given)]
  const message = around && verified(response, around, provider.keys)
  const assertion = inside && verified(given, inside, provider.keys)
  if (assertion !== undefined) return { message: message ?? response, assertion }
  if (message !== undefined) return { message, assertion: one(message, ASSERTION, 'Assertion') }
  return fail('saml_signature', { reason: 'neither it nor its assertion is signed' })
}

/** The envelope of a message: sender and destination. */
export function checkEnvelope(message: Element, { provider }: SamlServiceProvider, address: string): void {
  if (attribute(message, 'Version') !== '2.0') unreadable('it is not of SAML 2.0')
  const destination = attribute(message, 'Destination')
  if (destination !== undefined && destination !== address)
    fail('saml_not_for_us', { reason: 'its Destination is another address' })
  const issuer = maybeOne(message, ASSERTION, 'Issuer')
  if (issuer !== undefined && textIn(issuer) !== provider.entityId)
    fail('saml_not_for_us', { reason: 'its Issuer is not the identity provider in the metadata' })
}
