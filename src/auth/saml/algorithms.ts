import { verify, type KeyObject } from 'node:crypto'

interface SignatureAlgorithm {
  readonly hash: string
  readonly keyType: 'rsa' | 'ec'
}

const MORE = 'http://www.w3.org/2001/04/xmldsig-more#'

/** Allowed signature algorithms; SHA-1, HMAC and DSA are excluded on purpose. */
const signatures: Readonly<Record<string, SignatureAlgorithm>> = {
  [`${MORE}rsa-sha256`]: { hash: 'sha256', keyType: 'rsa' },
  [`${MORE}rsa-sha384`]: { hash: 'sha384', keyType: 'rsa' },
  [`${MORE}rsa-sha512`]: { hash: 'sha512', keyType: 'rsa' },
  [`${MORE}ecdsa-sha256`]: { hash: 'sha256', keyType: 'ec' },
  [`${MORE}ecdsa-sha384`]: { hash: 'sha384', keyType: 'ec' },
  [`${MORE}ecdsa-sha512`]: { hash: 'sha512', keyType: 'ec' },
}

const digests: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmlenc#sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#sha384': 'sha384',
  'http://www.w3.org/2001/04/xmlenc#sha512': 'sha512',
}

const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

export const signatureAlgorithm = (name: string): SignatureAlgorithm | undefined => own(signatures, name)
/** Node's name for a digest. */
export const digestAlgorithm = (name: string): string | undefined => own(digests, name)

/** Whether one of the keys made the signature. */
export function signedByOne(
  keys: readonly KeyObject[],
  { hash, keyType }: SignatureAlgorithm,
  signed: { readonly bytes: Buffer; readonly signature: Buffer },
): boolean {
  return keys
    .filter(key => key.asymmetricKeyType === keyType)
    .some(key => verify(hash, signed.bytes, { key, dsaEncoding: 'ieee-p1363' }, signed.signature))
}
