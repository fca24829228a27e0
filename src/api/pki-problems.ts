import { Problem, type ErrorName } from '#base/errors.ts'
import { PkiError, type PkiCode } from '#pki/pki-error.ts'

const problems: Readonly<Record<PkiCode, ErrorName>> = {
  empty: 'pem_empty',
  too_big: 'pem_too_big',
  not_pem: 'pem_not',
  pem_headers: 'pem_headers',
  pem_type: 'pem_type',
  bad_certificate: 'certificate_bad',
  no_certificate: 'certificate_none',
  several_certificates: 'authority_one',
  not_a_ca: 'authority_not_ca',
  chain_order: 'certificate_chain',
  no_key: 'certificate_no_key',
  bad_key: 'certificate_key_bad',
  encrypted_key: 'certificate_key_encrypted',
  unsupported_key: 'certificate_bad',
  key_mismatch: 'certificate_key_mismatch',
  key_in_certificate: 'certificate_swapped',
  certificate_in_key: 'certificate_key_swapped',
  bad_public_key: 'ssh_public_key',
  bad_key_type: 'ssh_key_type',
  bad_key_size: 'ssh_rsa_size',
  size_needs_rsa: 'ssh_size_only_rsa',
  bad_curve: 'ssh_curve',
  curve_needs_ecdsa: 'ssh_curve_only_ecdsa',
  bad_key_id: 'invalid_value',
  bad_principal: 'ssh_principal',
  bad_validity: 'ssh_validity',
  bad_option: 'ssh_option',
  bad_ssh_certificate: 'ssh_public_key',
}

type Overrides = Partial<Record<PkiCode, ErrorName>>

function translated(error: unknown, field: string, overrides: Overrides): unknown {
  if (!(error instanceof PkiError)) return error
  const code = overrides[error.code] ?? problems[error.code]
  return new Problem(code, { field, reason: error.message })
}

/** Runs PKI code and turns its errors into API errors. */
export function withPkiProblems<Value>(field: string, run: () => Value, overrides: Overrides = {}): Value {
  try {
    const value = run()
    if (!(value instanceof Promise)) return value
    return value.catch((error: unknown) => Promise.reject(translated(error, field, overrides))) as Value
  } catch (error) {
    throw translated(error, field, overrides)
  }
}
