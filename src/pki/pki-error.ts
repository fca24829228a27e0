/** Why a certificate, key or CSR was rejected. The API layer maps each to its published number. */
export type PkiCode =
  | 'empty'
  | 'too_big'
  | 'not_pem'
  | 'pem_headers'
  | 'pem_type'
  | 'bad_certificate'
  | 'no_certificate'
  | 'several_certificates'
  | 'not_a_ca'
  | 'chain_order'
  | 'no_key'
  | 'bad_key'
  | 'encrypted_key'
  | 'unsupported_key'
  | 'key_mismatch'
  | 'key_in_certificate'
  | 'certificate_in_key'
  | 'bad_public_key'
  | 'bad_key_type'
  | 'bad_key_size'
  | 'size_needs_rsa'
  | 'bad_curve'
  | 'curve_needs_ecdsa'
  | 'bad_key_id'
  | 'bad_principal'
  | 'bad_validity'
  | 'bad_option'
  | 'bad_ssh_certificate'

/** An error whose message names what to change. It never quotes key material. */
export class PkiError extends Error {
  override readonly name = 'PkiError'
  readonly code: PkiCode

  constructor(code: PkiCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

export function refuse(code: PkiCode, message: string): never {
  throw new PkiError(code, message)
}

/** Runs a third-party parser: whatever it throws becomes the given error. */
export function refuseAs<Value>(code: PkiCode, message: string, parse: () => Value): Value {
  try {
    return parse()
  } catch (cause) {
    throw cause instanceof PkiError ? cause : new PkiError(code, message, cause)
  }
}
