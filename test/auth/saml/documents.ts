import { sign, verify } from 'node:crypto'
import { SignedXml } from 'xml-crypto'
import type { Identity } from '../../support/openssl.ts'

/** The contents of an identity provider's response; a test overrides what it is about. */
export interface AssertionOptions {
  readonly id?: string
  readonly responseId?: string
  /** XML: a test may put more than text there. */
  readonly nameId?: string
  readonly format?: string
  readonly issuer?: string
  readonly audience?: string
  readonly recipient?: string
  readonly destination?: string
  readonly confirmation?: string
  /** Undefined: the flow was started by the provider. */
  readonly inResponseTo?: string | undefined
  /** In seconds from now. */
  readonly from?: number
  readonly until?: number
  readonly issued?: number
  readonly authenticated?: number
  readonly sessionUntil?: number
  readonly conditions?: string
  readonly statements?: number
  readonly attributes?: Readonly<Record<string, readonly string[]>>
  readonly status?: string
  /** Stands between status and assertion. */
  readonly before?: string
}

export const PROVIDER = 'https://login.example.org/metadata'
export const EMAIL = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'
export const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'
export const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'
export const UNSPECIFIED = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified'
const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success'
const DSIG = 'http://www.w3.org/2000/09/xmldsig#'
const MORE = 'http://www.w3.org/2001/04/xmldsig-more#'
const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#'

/** Whom the answers are for. */
interface Service {
  readonly entityId: string
  readonly acsUrl: string
}

export const after = (seconds: number, now = Date.now()): string =>
  new Date(now + seconds * 1000).toISOString()

const optional = (name: string, value: string | undefined): string =>
  value === undefined ? '' : ` ${name}="${value}"`

export function assertionXml(service: Service, options: AssertionOptions): string {
  const { from = -10, until = 300, statements = 1, attributes = {} } = options
  const times = ` NotBefore="${after(from)}" NotOnOrAfter="${after(until)}"`
  const statement =
    `<saml:AuthnStatement AuthnInstant="${after(options.authenticated ?? 0)}" SessionIndex="s1"` +
    optional(
      'SessionNotOnOrAfter',
      options.sessionUntil === undefined ? undefined : after(options.sessionUntil),
    ) +
    '><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password' +
    '</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>'
  const values = Object.entries(attributes).map(
    ([name, texts]) =>
      `<saml:Attribute Name="${name}">` +
      texts.map(text => `<saml:AttributeValue>${text}</saml:AttributeValue>`).join('') +
      '</saml:Attribute>',
  )
  return (
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${options.id ?? newId()}" ` +
    `Version="2.0" IssueInstant="${after(options.issued ?? 0)}"><saml:Issuer>${options.issuer ?? PROVIDER}</saml:Issuer>` +
    `<saml:Subject><saml:NameID Format="${options.format ?? PERSISTENT}">${options.nameId ?? 'anna'}</saml:NameID>` +
    `<saml:SubjectConfirmation Method="${options.confirmation ?? BEARER}"><saml:SubjectConfirmationData` +
    ` NotOnOrAfter="${after(until)}" Recipient="${options.recipient ?? service.acsUrl}"` +
    `${optional('InResponseTo', options.inResponseTo)}/></saml:SubjectConfirmation></saml:Subject>` +
    `<saml:Conditions${times}><saml:AudienceRestriction><saml:Audience>${options.audience ?? service.entityId}` +
    `</saml:Audience></saml:AudienceRestriction>${options.conditions ?? ''}</saml:Conditions>` +
    statement.repeat(statements) +
    (values.length === 0 ? '' : `<saml:AttributeStatement>${values.join('')}</saml:AttributeStatement>`) +
    '</saml:Assertion>'
  )
}

let ids = 0
const newId = (): string => `_a${++ids}`

export const responseXml = (service: Service, options: AssertionOptions, content: string): string =>
  `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${options.responseId ?? newId()}" ` +
  `Version="2.0" IssueInstant="${after(0)}" Destination="${options.destination ?? service.acsUrl}"` +
  `${optional('InResponseTo', options.inResponseTo)}><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">` +
  `${options.issuer ?? PROVIDER}</saml:Issuer><samlp:Status><samlp:StatusCode Value="${options.status ?? SUCCESS}"/>` +
  `</samlp:Status>${options.before ?? ''}${content}</samlp:Response>`

interface Signing {
  readonly over?: 'Assertion' | 'Response' | 'LogoutRequest'
  readonly by: Identity
  readonly algorithm?: string
  readonly digest?: string
  readonly transforms?: readonly string[]
  readonly canonicalization?: string
  readonly prefixes?: readonly string[]
  /** The reference names no element, which means all there is. */
  readonly wholeDocument?: boolean
}

/** Signs with xml-crypto, which our own code does not use. */
export function signed(xml: string, signing: Signing): string {
  const { over = 'Assertion', by, algorithm = `${MORE}rsa-sha256`, prefixes = [] } = signing
  const signature = new SignedXml({
    privateKey: by.key,
    publicCert: by.certificate,
    signatureAlgorithm: algorithm,
    canonicalizationAlgorithm: signing.canonicalization ?? EXCLUSIVE,
  })
  Object.assign(signature.SignatureAlgorithms, further)
  const path = `//*[local-name(.)='${over}']`
  signature.addReference({
    xpath: path,
    digestAlgorithm: signing.digest ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
    transforms: signing.transforms ?? [`${DSIG}enveloped-signature`, EXCLUSIVE],
    inclusiveNamespacesPrefixList: [...prefixes],
    isEmptyUri: signing.wholeDocument ?? false,
  })
  const location = { reference: `${path}/*[local-name(.)='Issuer']`, action: 'after' as const }
  signature.computeSignature(xml, { location, prefix: 'ds' })
  return signature.getSignedXml()
}

const algorithm = (name: string, hash: string) =>
  class {
    getSignature = (text: string, key: string): string =>
      sign(hash, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64')
    verifySignature = (text: string, key: string, value: string): boolean =>
      verify(hash, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(value, 'base64'))
    getAlgorithmName = (): string => name
  }

/** Those that xml-crypto does not bring along. */
const further = Object.fromEntries(
  ['rsa-sha384', 'ecdsa-sha256', 'ecdsa-sha384', 'ecdsa-sha512'].map(name => [
    MORE + name,
    algorithm(MORE + name, name.split('-')[1] ?? ''),
  ]),
)

/** A whole answer whose assertion is signed, the usual kind. */
export function signedResponse(service: Service, by: Identity, options: AssertionOptions = {}): string {
  return responseXml(service, options, signed(assertionXml(service, options), { by }))
}

interface MetadataOptions {
  readonly keys: readonly Identity[]
  readonly signIn?: { readonly binding: string; readonly url: string }
  readonly signOut?: { readonly binding: string; readonly url: string }
  readonly entityId?: string
}

const pemBody = (pem: string): string => pem.replace(/-----[A-Z ]+-----|\s/g, '')

export function metadataXml(options: MetadataOptions): string {
  const { signIn = { binding: 'HTTP-Redirect', url: 'https://login.example.org/sso' }, signOut } = options
  const keys = options.keys.map(
    ({ certificate }) =>
      `<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="${DSIG}"><ds:X509Data><ds:X509Certificate>` +
      `${pemBody(certificate)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`,
  )
  const service = (name: string, { binding, url }: { binding: string; url: string }): string =>
    `<md:${name} Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}" Location="${url}"/>`
  return (
    `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${options.entityId ?? PROVIDER}">` +
    '<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">' +
    keys.join('') +
    (signOut ? service('SingleLogoutService', signOut) : '') +
    service('SingleSignOnService', signIn) +
    '</md:IDPSSODescriptor></md:EntityDescriptor>'
  )
}
