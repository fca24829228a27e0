import type { KeyObject } from 'node:crypto'

const MIN_RSA_BITS = 2048
/** One signature with a key of 8192 bits takes 70 ms, and a client needs no credential to request it. */
export const MAX_RSA_BITS = 4096
/** A larger exponent has no use, and makes verification as slow as signing. */
const MAX_EXPONENT = 0xffff_ffffn

/** Why the size of an RSA key is not supported; undefined for a supported one, and for keys of other types. */
export function rsaFault({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): string | undefined {
  if (asymmetricKeyType !== 'rsa' && asymmetricKeyType !== 'rsa-pss') return undefined
  const { modulusLength = 0, publicExponent = 0n } = asymmetricKeyDetails
  if (publicExponent > MAX_EXPONENT) return 'The RSA key has an exponent of more than 32 bits'
  return rsaBitsFault(modulusLength)
}

export const rsaBitsFault = (bits: number): string | undefined =>
  bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS
    ? undefined
    : `RSA keys need ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits; this one has ${bits}`

/** Whether an RSA key is too large. Keys of others may be smaller than ours. */
export const isLargeRsa = (key: KeyObject): boolean => {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  return modulusLength > MAX_RSA_BITS || publicExponent > MAX_EXPONENT
}
