import { DOMParser, ParseError } from '@xmldom/xmldom'
import type { Call } from '#api/call.ts'
import type { ModuleRule } from '#api/modules/rule.ts'
import { fail } from '#base/errors.ts'
import type { Body } from '#contract/body.ts'
import { nameIdFormats, type saml } from '#contract/modules/saml.ts'
import type { Kept } from '#contract/shape.ts'
import { selfSignedCertificate } from '#pki/self-signed.ts'

type Module = Kept<typeof saml.shape>

const METADATA_NAMESPACE = 'urn:oasis:names:tc:SAML:2.0:metadata'
/** The identity provider keeps the certificate for as long as it keeps the endpoint. */
const CERTIFICATE_YEARS = 35

/** Where the identity provider finds the endpoint; known by the id of the route or endpoint configuration. */
export function samlAddresses(call: Call, owner: string): Body {
  const entity = `${call.facts.signInUrl}/saml/${owner}`
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
  if (/<!(DOCTYPE|ENTITY)/i.test(xml))
    fail('saml_metadata_bad', { field: 'idp_metadata', reason: 'it has a DTD' })
  const root = parse(xml)
  if (root?.localName !== 'EntityDescriptor' || root.namespaceURI !== METADATA_NAMESPACE) {
    const reason = 'its outermost element is not an EntityDescriptor of SAML 2.0 metadata'
    fail('saml_metadata_bad', { field: 'idp_metadata', reason })
  }
}

function parse(xml: string) {
  const onError = (level: string, message: string) => {
    if (level !== 'warning') throw new ParseError(message)
  }
  try {
    return new DOMParser({ onError }).parseFromString(xml, 'text/xml').documentElement
  } catch {
    return fail('saml_metadata_bad', { field: 'idp_metadata', reason: 'it is not well-formed XML' })
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
