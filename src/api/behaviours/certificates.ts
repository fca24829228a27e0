import type { ResourceHooks } from '#api/resource-hooks.ts'
import { withPkiProblems } from '#api/pki-problems.ts'
import { certificateAuthority as authorityKind } from '#contract/kinds/certificate-authority.ts'
import { tlsCertificate as certificateKind } from '#contract/kinds/tls-certificate.ts'
import { readAuthority, readCertificate } from '#pki/x509.ts'

export const tlsCertificate: ResourceHooks = {
  prepare(draft) {
    if (draft.before) return
    const body = draft.as(certificateKind)
    const facts = withPkiProblems('certificate_pem', () =>
      readCertificate(body.certificate_pem, body.private_key_pem),
    )
    body.subject_common_name = facts.subjectCommonName
    body.subject_organization = facts.subjectOrganization
    body.subject_organizational_unit = facts.subjectOrganizationalUnit
    body.subject_locality = facts.subjectLocality
    body.subject_province = facts.subjectProvince
    body.subject_country = facts.subjectCountry
    body.subject_alternative_names = { dns_names: [...facts.dnsNames], ips: [...facts.ips] }
    body.issuer_common_name = facts.issuerCommonName
    body.serial_number = facts.serialNumber
    body.not_before = facts.notBefore
    body.not_after = facts.notAfter
    body.key_usages = [...facts.keyUsages]
    body.extended_key_usages = [...facts.extendedKeyUsages]
    body.private_key_type = facts.privateKeyType
    body.issued_at = null
  },
}

export const certificateAuthority: ResourceHooks = {
  prepare(draft) {
    if (draft.before) return
    const body = draft.as(authorityKind)
    const facts = withPkiProblems('ca_pem', () => readAuthority(body.ca_pem))
    body.subject_common_name = facts.subjectCommonName
    body.not_before = facts.notBefore
    body.not_after = facts.notAfter
    body.key_usages = [...facts.keyUsages]
    body.extended_key_usages = [...facts.extendedKeyUsages]
  },
}
