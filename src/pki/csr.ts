// @peculiar/x509 resolves its parts through decorator metadata, so this import must come first.
import 'reflect-metadata'
import { createPublicKey, webcrypto } from 'node:crypto'
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from '@peculiar/x509'
import { Secret } from '#base/secrets.ts'
import { writePem } from '#pki/pem.ts'
import { refuse } from '#pki/pki-error.ts'
import { keyTypeOf, readPrivateKey, type KeyType } from '#pki/private-key.ts'

/** The key types that public CAs support. */
export type ServerKeyType = Exclude<KeyType, 'ed25519'>

const ALGORITHMS = {
  rsa: {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 2048,
    publicExponent: Uint8Array.of(1, 0, 1),
  },
  ecdsa: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
} as const

/** A private key in PEM. Web crypto creates it on a thread, so that an RSA key blocks nothing. */
export async function newServerKey(type: ServerKeyType): Promise<Secret> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHMS[type], true, ['sign', 'verify'])
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  return new Secret(writePem({ label: 'PRIVATE KEY', der }))
}

/** A CSR for names, in DER. The subject stays empty: CAs use only the alternative names. */
export async function signingRequest(names: readonly string[], keyPem: Secret): Promise<Buffer> {
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: '',
    ...(await keysOf(keyPem)),
    extensions: [new SubjectAlternativeNameExtension(names.map(value => ({ type: 'dns', value })))],
  })
  return Buffer.from(request.rawData)
}

async function keysOf(keyPem: Secret) {
  const key = readPrivateKey(keyPem.reveal())
  const type = keyTypeOf(key)
  if (type === 'ed25519') return refuse('unsupported_key', 'Authorities sign no Ed25519 keys.')
  const algorithm = ALGORITHMS[type]
  const [pkcs8, spki] = [
    key.export({ type: 'pkcs8', format: 'der' }),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
  ].map(der => new Uint8Array(der))
  if (pkcs8 === undefined || spki === undefined) return refuse('bad_key', 'The key cannot be exported.')
  const keys = {
    privateKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']),
    publicKey: await webcrypto.subtle.importKey('spki', spki, algorithm, true, ['verify']),
  }
  return { keys, signingAlgorithm: algorithm }
}
