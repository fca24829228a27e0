import { createSecureContext } from 'node:tls'
import { fail } from '#base/errors.ts'
import { Secret } from '#base/secrets.ts'
import { readModule } from '#gateway/modules/read-module.ts'
import type { Identity } from '#pki/local-authority.ts'
import { type JsonObject, object, text } from '#tunnel/fields.ts'

const OPTION = 'TLSTermination'
const pem = text(262_144)
const shape = object({ cert: pem, key: pem, sealed_key: pem })

const decode = (base64: string): string => Buffer.from(base64, 'base64').toString()

/** The certificate an agent brought for TLS that ends here; undefined when ours will do. */
export function terminationIdentity(given: JsonObject): Identity | undefined {
  const { cert, key, sealed_key } = readModule(OPTION, shape, given)
  if (sealed_key !== '')
    fail('bind_option', { option: OPTION, reason: 'sealed_key is not supported, use key' })
  if (cert === '' && key === '') return undefined
  const identity = { certificatePem: decode(cert), privateKeyPem: new Secret(decode(key)) }
  try {
    createSecureContext({ cert: identity.certificatePem, key: identity.privateKeyPem.reveal() })
  } catch {
    fail('bind_option', {
      option: OPTION,
      reason: 'certificate and key are not PEM or do not belong together',
    })
  }
  return identity
}
