import { X509Certificate, type KeyObject } from 'node:crypto'
import { fail } from '#base/errors.ts'
import { METADATA, POST_BINDING, REDIRECT_BINDING, SIGNATURE } from '#auth/saml/names.ts'
import {
  allNamed,
  attribute,
  base64,
  type Element,
  isNamed,
  readXml,
  textIn,
  within,
  XmlFault,
} from '#auth/saml/xml.ts'
import { isLargeRsa, MAX_RSA_BITS } from '#pki/rsa-size.ts'

/** How a message is sent to the provider. */
interface SamlEndpoint {
  readonly binding: 'redirect' | 'post'
  readonly url: string
}

/** An identity provider, from its metadata. */
export interface IdentityProvider {
  readonly entityId: string
  readonly signIn: SamlEndpoint
  /** Where logout responses are sent; undefined when it has no such address. */
  readonly signOut: SamlEndpoint | undefined
  /** Its signing certificates: several during a rollover. */
  readonly keys: readonly KeyObject[]
}

/** A signature is checked with each of them until one matches. */
const MAX_KEYS = 10

const bad = (reason: string): never => fail('sign_in_unconfigured', { reason: `of idp_metadata, ${reason}` })

/** Parses metadata; throws a Problem when it is unusable. */
export function identityProvider(metadata: string): IdentityProvider {
  try {
    return fromMetadata(readXml(metadata))
  } catch (error) {
    if (error instanceof XmlFault) return bad(error.message)
    throw error
  }
}

function fromMetadata(root: Element): IdentityProvider {
  if (!isNamed(root, METADATA, 'EntityDescriptor')) bad('it is not an EntityDescriptor')
  const entityId = attribute(root, 'entityID') ?? ''
  if (entityId === '') bad('it has no entityID')
  const [role] = allNamed(root, METADATA, 'IDPSSODescriptor')
  if (role === undefined) return bad('it has no IDPSSODescriptor')
  const certificates = allNamed(role, METADATA, 'KeyDescriptor')
    .filter(key => attribute(key, 'use') !== 'encryption')
    .flatMap(certificatesIn)
  if (certificates.length > MAX_KEYS)
    bad(`it has more than ${MAX_KEYS} certificates to check signatures with`)
  const keys = certificates.flatMap(each => keyOf(each) ?? [])
  if (keys.length === 0) bad('it has no certificate to check signatures with')
  if (keys.some(isLargeRsa)) bad(`it has a certificate with an RSA key of more than ${MAX_RSA_BITS} bits`)
  const signIn = samlEndpointOf(role, 'SingleSignOnService', 'Location')
  if (signIn === undefined) return bad('it has no SingleSignOnService for HTTP-Redirect or HTTP-POST')
  const signOut =
    samlEndpointOf(role, 'SingleLogoutService', 'ResponseLocation') ??
    samlEndpointOf(role, 'SingleLogoutService', 'Location')
  return { entityId, signIn, signOut, keys }
}

/** Certificates are only containers of keys in metadata (interoperability profile): their expiry is ignored. */
const certificatesIn = (descriptor: Element): Element[] =>
  within(descriptor).filter(element => isNamed(element, SIGNATURE, 'X509Certificate'))

function keyOf(certificate: Element): KeyObject | undefined {
  try {
    return new X509Certificate(base64(textIn(certificate))).publicKey
  } catch {
    // An unreadable certificate is skipped; another one may work.
    return undefined
  }
}

function samlEndpointOf(role: Element, service: string, attributeName: string): SamlEndpoint | undefined {
  const services = allNamed(role, METADATA, service)
  for (const [name, binding] of [[REDIRECT_BINDING, 'redirect'] as const, [POST_BINDING, 'post'] as const]) {
    const found = services.find(each => attribute(each, 'Binding') === name)
    const url = found && webAddress(attribute(found, attributeName))
    if (url !== undefined) return { binding, url }
  }
  return undefined
}

/** Browsers are redirected there, so it must be an http or https URL. */
function webAddress(text: string | undefined): string | undefined {
  const url = text === undefined ? null : URL.parse(text.trim())
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : undefined
}
