import { createPrivateKey } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { fail } from '#base/errors.ts'
import { Secret } from '#base/secrets.ts'
import { readModule } from '#gateway/modules/read-module.ts'
import type { Identity } from '#pki/local-authority.ts'
import { isLargeRsa, MAX_RSA_BITS } from '#pki/rsa-size.ts'
import { type JsonObject, object, text } from '#tunnel/fields.ts'

const OPTION = 'TLSTermination'
const pem = text(262_144)
const shape = object({ cert: pem, key: pem, sealed_key: pem })

const decode = (base64: string): string => Buffer.from(base64, 'base64').toString()

/** The certificate an agent brought for TLS that ends here; undefined when ours will do. */
export function terminationIdentity(given: JsonObject): Identity | undefined {
  const { cert, key, sealed_key } = readModule(OPTION, shape, given)
  if (sealed_key !== '') refuse('sealed_key is not supported, use key')
  if (cert === '' && key === '') return undefined
  const identity = { certificatePem: decode(cert), privateKeyPem: new Secret(decode(key)) }
  try {
    createSecureContext({ cert: identity.certificatePem, key: identity.privateKeyPem.reveal() })
  } catch {
    return refuse('certificate and key are not PEM or do not belong together')
  }
  if (isLargeRsa(createPrivateKey(identity.privateKeyPem.reveal())))
    refuse(`the RSA key has more than ${MAX_RSA_BITS} bits, use a smaller key or an ECDSA key`)
  return identity
}

const refuse = (reason: string): never => fail('bind_option', { option: OPTION, reason })
