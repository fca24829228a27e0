// @peculiar/x509 resolves its parts through decorator metadata, so this import must come first.
import 'reflect-metadata'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509Certificate,
} from '@peculiar/x509'
import { canonicalAddress } from '#base/addresses.ts'

/** What the API shows of a certificate. */
export interface CertificateFacts {
  readonly subjectCommonName: string
  readonly subjectOrganization: string
  readonly subjectOrganizationalUnit: string
  readonly subjectLocality: string
  readonly subjectProvince: string
  readonly subjectCountry: string
  readonly issuerCommonName: string
  /** Lower-case hex of whole bytes. */
  readonly serialNumber: string
  readonly notBefore: string
  readonly notAfter: string
  readonly dnsNames: readonly string[]
  readonly ips: readonly string[]
  readonly keyUsages: readonly string[]
  readonly extendedKeyUsages: readonly string[]
}

/** In the order of the bits of RFC 5280 §4.2.1.3; the spelling is the one existing clients know. */
const KEY_USAGES = [
  'digital_signature',
  'content_commitment',
  'key_encipherment',
  'data_encipherment',
  'key_agreement',
  'cert_sign',
  'crl_sign',
  'encipher_only',
  'decipher_only',
]

const EXTENDED_KEY_USAGES: ReadonlyMap<string, string> = new Map([
  ['2.5.29.37.0', 'any'],
  ['1.3.6.1.5.5.7.3.1', 'server_auth'],
  ['1.3.6.1.5.5.7.3.2', 'client_auth'],
  ['1.3.6.1.5.5.7.3.3', 'code_signing'],
  ['1.3.6.1.5.5.7.3.4', 'email_protection'],
  ['1.3.6.1.5.5.7.3.5', 'ipsec_end_system'],
  ['1.3.6.1.5.5.7.3.6', 'ipsec_tunnel'],
  ['1.3.6.1.5.5.7.3.7', 'ipsec_user'],
  ['1.3.6.1.5.5.7.3.8', 'time_stamping'],
  ['1.3.6.1.5.5.7.3.9', 'ocsp_signing'],
  ['1.3.6.1.4.1.311.10.3.3', 'microsoft_server_gated_crypto'],
  ['2.16.840.1.113730.4.1', 'netscape_server_gated_crypto'],
  ['1.3.6.1.4.1.311.2.1.22', 'microsoft_commercial_code_signing'],
  ['1.3.6.1.4.1.311.61.1.1', 'microsoft_kernel_code_signing'],
])

export function certificateFacts(der: Buffer): CertificateFacts {
  const certificate = new X509Certificate(Uint8Array.from(der))
  // A name may repeat a part; all of them are shown, but of common names the most specific one, the last.
  const subject = (part: string) => certificate.subjectName.getField(part).join(', ')
  const names = certificate.getExtension(SubjectAlternativeNameExtension)?.names.items ?? []
  return {
    subjectCommonName: certificate.subjectName.getField('CN').at(-1) ?? '',
    subjectOrganization: subject('O'),
    subjectOrganizationalUnit: subject('OU'),
    subjectLocality: subject('L'),
    subjectProvince: subject('ST'),
    subjectCountry: subject('C'),
    issuerCommonName: certificate.issuerName.getField('CN').at(-1) ?? '',
    serialNumber: certificate.serialNumber.toLowerCase(),
    notBefore: wholeSeconds(certificate.notBefore),
    notAfter: wholeSeconds(certificate.notAfter),
    dnsNames: names.filter(name => name.type === 'dns').map(name => name.value),
    ips: names.filter(name => name.type === 'ip').flatMap(name => canonicalAddress(name.value) ?? []),
    keyUsages: keyUsages(certificate),
    extendedKeyUsages: extendedKeyUsages(certificate),
  }
}

/** Whether the basic constraints say so. Node's `ca` also asks the key usages and so misses real authorities. */
export const isAuthority = (der: Buffer): boolean =>
  new X509Certificate(Uint8Array.from(der)).getExtension(BasicConstraintsExtension)?.ca === true

function keyUsages(certificate: X509Certificate): string[] {
  const bits = certificate.getExtension(KeyUsagesExtension)?.usages ?? 0
  return KEY_USAGES.filter((_, bit) => (bits & (1 << bit)) !== 0)
}

function extendedKeyUsages(certificate: X509Certificate): string[] {
  const usages = certificate.getExtension(ExtendedKeyUsageExtension)?.usages ?? []
  return Array.from(usages, usage => EXTENDED_KEY_USAGES.get(String(usage)) ?? String(usage))
}

const wholeSeconds = (moment: Date): string => moment.toISOString().replace(/\.\d+Z$/, 'Z')
