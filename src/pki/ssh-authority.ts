import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { Secret } from '#base/secrets.ts'
import { refuse } from '#pki/pki-error.ts'
import type { KeyType } from '#pki/private-key.ts'
import { encodePublicKey } from '#pki/ssh-algorithm.ts'
import { readSshPublicKey } from '#pki/ssh-key.ts'

/** Requested key parameters; absent ones get defaults. */
export interface AuthorityRequest {
  readonly keyType?: string | undefined
  /** Only for ecdsa. */
  readonly curve?: string | undefined
  /** Only for rsa. */
  readonly bits?: number | undefined
}

export interface SshAuthority {
  readonly keyType: KeyType
  /** Authorized_keys line without a comment. */
  readonly publicKey: string
  /** PKCS #8. */
  readonly privateKeyPem: Secret
}

interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

const generate = promisify(generateKeyPair)

/** A CA signs for years, so RSA gets the larger size by default. */
const DEFAULT_BITS = 4096
const BITS = new Set([2048, DEFAULT_BITS])

const CURVES: ReadonlyMap<string, string> = new Map([
  ['256', 'P-256'],
  ['384', 'P-384'],
  ['521', 'P-521'],
])

/** Creates the key pair of an SSH CA, Ed25519 by default. */
export async function newSshAuthority(request: AuthorityRequest = {}): Promise<SshAuthority> {
  const { publicKey, privateKey } = await newKeys(request)
  const blob = encodePublicKey(publicKey)
  const name = blob.subarray(4, 4 + blob.readUInt32BE())
  const { keyType, line } = readSshPublicKey(`${name.toString()} ${blob.toString('base64')}`)
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  return { keyType, publicKey: line, privateKeyPem: new Secret(pem) }
}

function newKeys({ keyType = 'ed25519', curve, bits }: AuthorityRequest): Promise<KeyPair> {
  if (keyType !== 'rsa' && bits !== undefined)
    refuse('size_needs_rsa', 'A key size can be chosen only for RSA keys.')
  if (keyType !== 'ecdsa' && curve !== undefined)
    refuse('curve_needs_ecdsa', 'A curve can be chosen only for ECDSA keys.')
  switch (keyType) {
    case 'rsa':
      return generate('rsa', { modulusLength: rsaBits(bits) })
    case 'ecdsa':
      return generate('ec', { namedCurve: namedCurve(curve) })
    case 'ed25519':
      return generate('ed25519')
    default:
      return refuse('bad_key_type', 'The key type must be rsa, ecdsa or ed25519.')
  }
}

function rsaBits(bits = DEFAULT_BITS): number {
  return BITS.has(bits) ? bits : refuse('bad_key_size', 'The size of an RSA key must be 2048 or 4096 bits.')
}

/** The curve as SSH writes it (`nistp256`), as NIST does (`P-256`, `p256`), or only the size (`256`). */
function namedCurve(curve = 'nistp256'): string {
  const [, size = ''] = /^(?:(?:nist)?p-?)?(\d{3})$/i.exec(curve) ?? []
  return CURVES.get(size) ?? refuse('bad_curve', 'The curve must be nistp256, nistp384 or nistp521.')
}
