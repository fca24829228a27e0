import type { X509Certificate } from 'node:crypto'
import { canonicalAddress } from '#base/addresses.ts'
import { certificateNames, valuesOf } from '#pki/certificate-names.ts'
import { keyUsageBits } from '#pki/extensions.ts'

/** The certificate fields of the API. */
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

/** In the bit order of RFC 5280 §4.2.1.3; the spelling is that of existing clients. */
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

export function certificateFacts(certificate: X509Certificate): CertificateFacts {
  const { subject, issuer, alternative } = certificateNames(certificate)
  // A name may repeat a part; all values are shown, but of common names the most specific one, the last.
  const all = (part: string): string => valuesOf(subject, part).join(', ')
  const usages = keyUsageBits(certificate.raw)
  return {
    subjectCommonName: valuesOf(subject, 'CN').at(-1) ?? '',
    subjectOrganization: all('O'),
    subjectOrganizationalUnit: all('OU'),
    subjectLocality: all('L'),
    subjectProvince: all('ST'),
    subjectCountry: all('C'),
    issuerCommonName: valuesOf(issuer, 'CN').at(-1) ?? '',
    serialNumber: certificate.serialNumber.toLowerCase(),
    notBefore: wholeSeconds(certificate.validFromDate),
    notAfter: wholeSeconds(certificate.validToDate),
    dnsNames: alternative.dns,
    ips: alternative.ips.flatMap(address => canonicalAddress(address) ?? []),
    keyUsages: KEY_USAGES.filter((_, bit) => usages[bit] === true),
    extendedKeyUsages: (certificate.keyUsage ?? []).map(usage => EXTENDED_KEY_USAGES.get(usage) ?? usage),
  }
}

const wholeSeconds = (moment: Date): string => moment.toISOString().replace(/\.\d+Z$/, 'Z')
