import { createPrivateKey } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { fail } from '#base/errors.ts'
import { Secret } from '#base/secrets.ts'
import { readModule } from '#base/read-module.ts'
import type { TlsIdentity } from '#pki/local-authority.ts'
import { isLargeRsa, MAX_RSA_BITS } from '#pki/rsa-size.ts'
import { MAX_CHAIN } from '#pki/x509.ts'
import { type JsonObject, object, text } from '#base/json-fields.ts'

const OPTION = 'TLSTermination'
const pem = text(98_304)
const shape = object({ cert: pem, key: pem, sealed_key: pem })

const decode = (base64: string): string => Buffer.from(base64, 'base64').toString()

/** The certificate from an agent for TLS termination here; undefined to use the gateway's. */
export function terminationIdentity(given: JsonObject): TlsIdentity | undefined {
  const { cert, key, sealed_key } = readModule(OPTION, shape, given)
  if (sealed_key !== '') refuse('sealed_key is not supported, use key')
  if (cert === '' && key === '') return undefined
  if (decode(cert).split('-----BEGIN ').length > MAX_CHAIN + 1)
    refuse(`the chain has more than ${MAX_CHAIN} certificates`)
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
