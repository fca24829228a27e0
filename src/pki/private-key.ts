import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readPem, type PemBlock } from '#pki/pem.ts'
import { refuse, refuseAs } from '#pki/pki-error.ts'
import { rsaFault } from '#pki/rsa-size.ts'

export type KeyType = 'rsa' | 'ecdsa' | 'ed25519'

const ENCODINGS = { 'PRIVATE KEY': 'pkcs8', 'RSA PRIVATE KEY': 'pkcs1', 'EC PRIVATE KEY': 'sec1' } as const
const CURVES = new Set(['prime256v1', 'secp384r1', 'secp521r1'])

export const isPrivateKeyLabel = (label: string): boolean => label.endsWith('PRIVATE KEY')

/** The type of a key, or an error for types and sizes that current clients do not accept. */
export function keyTypeOf(key: KeyObject): KeyType {
  const { namedCurve = '' } = key.asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'rsa': {
      const fault = rsaFault(key)
      return fault === undefined ? 'rsa' : refuse('unsupported_key', `${fault}.`)
    }
    case 'ec':
      if (CURVES.has(namedCurve)) return 'ecdsa'
      return refuse('unsupported_key', 'ECDSA keys must use the curve P-256, P-384 or P-521.')
    case 'ed25519':
      return 'ed25519'
    default:
      return refuse('unsupported_key', 'The key must be an RSA, ECDSA or Ed25519 key.')
  }
}

/** The only private key of a PEM text, in PKCS #8, PKCS #1 or SEC 1 form and not encrypted. */
export function readPrivateKey(pem: string): KeyObject {
  if (pem.trim() === '') refuse('no_key', 'The private key is missing.')
  // `openssl ecparam -genkey` writes the curve as a separate block before the key, which repeats it.
  const blocks = readPem(pem).filter(block => block.label !== 'EC PARAMETERS')
  const keys = blocks.filter(block => isPrivateKeyLabel(block.label))
  if (keys.length === 0 && blocks.some(block => block.label === 'CERTIFICATE'))
    refuse('certificate_in_key', 'The private key field holds a certificate; are the two fields swapped?')
  const other = blocks.find(block => !isPrivateKeyLabel(block.label))
  if (other)
    refuse('pem_type', `The private key text holds a ${other.label} block; leave only the private key.`)
  const [key, second] = keys
  if (key === undefined) refuse('no_key', 'The text holds no private key.')
  if (second) refuse('bad_key', 'The text holds several private keys; leave only the one of the certificate.')
  return decodeKey(key)
}

function decodeKey({ label, der }: PemBlock): KeyObject {
  if (label === 'ENCRYPTED PRIVATE KEY')
    refuse('encrypted_key', 'The private key is encrypted; remove its passphrase.')
  if (!hasEncoding(label))
    refuse('pem_type', `A ${label} block is not supported; convert the key to PKCS #8 (BEGIN PRIVATE KEY).`)
  return refuseAs('bad_key', 'The private key cannot be read; it may be damaged or cut short.', () =>
    createPrivateKey({ key: der, format: 'der', type: ENCODINGS[label] }),
  )
}

const hasEncoding = (label: string): label is keyof typeof ENCODINGS => Object.hasOwn(ENCODINGS, label)
