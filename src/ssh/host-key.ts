import { createPublicKey, type KeyObject } from 'node:crypto'
import { Secret } from '#base/secrets.ts'
import { readPrivateKey } from '#pki/private-key.ts'
import { encodePublicKey } from '#pki/ssh-algorithm.ts'
import { uint32, wireString } from '#pki/ssh-wire.ts'

const BLOCK = 8

/** The gateway's Ed25519 host key: from PKCS #8 to the form that ssh2 reads. */
export function opensshHostKey(pem: Secret): Secret {
  const key = readPrivateKey(pem.reveal())
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('the SSH host key must be an Ed25519 key')
  return new Secret(opensshFormat(key))
}

/** The only form in which ssh2 accepts Ed25519 keys (PROTOCOL.key of OpenSSH). */
function opensshFormat(key: KeyObject): string {
  const blob = encodePublicKey(createPublicKey(key))
  const jwk = key.export({ format: 'jwk' })
  const [seed, point] = [jwk.d, jwk.x].map(part => Buffer.from(part ?? '', 'base64url'))
  if (seed === undefined || point === undefined) throw new Error('the SSH host key has no private part')
  // Check numbers, equal by definition; they detect a wrong passphrase, and there is none.
  const secret = Buffer.concat([
    uint32(0),
    uint32(0),
    wireString('ssh-ed25519'),
    wireString(point),
    wireString(Buffer.concat([seed, point])),
    wireString(''),
  ])
  const padding = Buffer.from(Array.from({ length: -secret.length & (BLOCK - 1) }, (_, index) => index + 1))
  const file = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    wireString('none'),
    wireString('none'),
    wireString(''),
    uint32(1),
    wireString(blob),
    wireString(Buffer.concat([secret, padding])),
  ])
  const lines = file.toString('base64').match(/.{1,70}/g) ?? []
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n')
}
