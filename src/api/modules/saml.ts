import { X509Certificate } from 'node:crypto'
import { DOMParser, ParseError } from '@xmldom/xmldom'
import type { Call } from '#api/call.ts'
import type { ModuleRule } from '#api/modules/rule.ts'
import { fail } from '#base/errors.ts'
import { documentFault } from '#base/xml-bounds.ts'
import type { ResourceBody } from '#contract/body.ts'
import { nameIdFormats, type saml } from '#contract/modules/saml.ts'
import type { Stored } from '#contract/shape.ts'
import { isLargeRsa, MAX_RSA_BITS } from '#pki/rsa-size.ts'
import { selfSignedCertificate } from '#pki/self-signed.ts'

type Module = Stored<typeof saml.shape>

const SIGNATURE_NAMESPACE = 'http://www.w3.org/2000/09/xmldsig#'
/** For signing and encryption, in each of several roles. */
const MAX_CERTIFICATES = 40
const METADATA_NAMESPACE = 'urn:oasis:names:tc:SAML:2.0:metadata'
/** The identity provider keeps the certificate as long as the endpoint. */
const CERTIFICATE_YEARS = 35

/** The URLs of the endpoint for the identity provider; derived from the id of the route or endpoint configuration. */
export function samlAddresses(call: Call, owner: string): ResourceBody {
  const entity = `${call.info.signInUrl}/saml/${owner}`
  return {
    entity_id: entity,
    metadata_url: entity,
    assertion_consumer_service_url: `${entity}/acs`,
    single_logout_url: `${entity}/slo`,
  }
}

export const completeSaml: ModuleRule = async (module, { before, call, owner }) => {
  const settings = module as Module
  checkMetadata(settings.idp_metadata)
  checkNameId(settings)
  checkGroups(settings.authorized_groups)
  if (before) {
    // The identity provider knows this certificate: a changed configuration keeps it.
    settings.request_signing_certificate_pem = String(before['request_signing_certificate_pem'])
    settings.request_signing_key_pem = String(before['request_signing_key_pem'])
    return
  }
  const name = String(samlAddresses(call, owner)['entity_id'])
  const made = await selfSignedCertificate({ commonName: name, organization: name, years: CERTIFICATE_YEARS })
  settings.request_signing_certificate_pem = made.certificatePem
  settings.request_signing_key_pem = made.privateKeyPem.reveal()
}

function checkMetadata(xml: string): void {
  const fault = documentFault(xml)
  if (fault !== undefined) refuse(fault)
  const root = parse(xml)
  if (root?.localName !== 'EntityDescriptor' || root.namespaceURI !== METADATA_NAMESPACE) {
    return refuse('its outermost element is not an EntityDescriptor of SAML 2.0 metadata')
  }
  const certificates = [...root.getElementsByTagNameNS(SIGNATURE_NAMESPACE, 'X509Certificate')]
  if (certificates.length > MAX_CERTIFICATES) refuse(`it has more than ${MAX_CERTIFICATES} certificates`)
  if (certificates.some(({ textContent }) => hasLargeKey(textContent ?? '')))
    refuse(`it has a certificate with an RSA key of more than ${MAX_RSA_BITS} bits`)
}

const refuse = (reason: string): never => fail('saml_metadata_bad', { field: 'idp_metadata', reason })

function hasLargeKey(base64: string): boolean {
  try {
    return isLargeRsa(new X509Certificate(Buffer.from(base64, 'base64')).publicKey)
  } catch {
    // An unreadable certificate is skipped.
    return false
  }
}

function parse(xml: string) {
  const onError = (level: string, message: string) => {
    if (level !== 'warning') throw new ParseError(message)
  }
  try {
    return new DOMParser({ onError }).parseFromString(xml, 'text/xml').documentElement
  } catch {
    return refuse('it is not well-formed XML')
  }
}

function checkNameId(settings: Module): void {
  if (settings.nameid_format === '') settings.nameid_format = nameIdFormats[0]
  if (nameIdFormats.some(format => format === settings.nameid_format)) return
  fail('saml_nameid', {
    field: 'nameid_format',
    value: settings.nameid_format,
    supported: nameIdFormats.join(', '),
  })
}

function checkGroups(groups: readonly string[]): void {
  const field = 'authorized_groups'
  if (groups.some(group => group.trim() === '')) fail('list_empty_item', { field })
  const twice = groups.find((group, index) => groups.indexOf(group) !== index)
  if (twice !== undefined) fail('list_twice', { field, value: twice })
}
