import type { KeyObject } from 'node:crypto'

const MIN_RSA_BITS = 2048
/** One signature with a key of 8192 bits takes the process 70 ms, and a client needs no credential to ask for it. */
export const MAX_RSA_BITS = 4096
/** A larger exponent has no use, and makes checking a signature as slow as making one. */
const MAX_EXPONENT = 0xffff_ffffn

/** Why an RSA key has not the size of keys that are used; undefined for one that has, and for keys of other types. */
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

/** Whether an RSA key is larger than is used. Keys of others may be smaller than ours. */
export const isLargeRsa = (key: KeyObject): boolean => {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  return modulusLength > MAX_RSA_BITS || publicExponent > MAX_EXPONENT
}
