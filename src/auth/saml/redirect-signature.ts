import type { KeyObject } from 'node:crypto'
import { inflateRawSync } from 'node:zlib'
import { signatureAlgorithm, signedByOne } from '#auth/saml/algorithms.ts'
import { SignatureFault } from '#auth/saml/signature.ts'
import { base64, XmlFault } from '#auth/saml/xml.ts'

const MAX_MESSAGE = 262_144
const SIGNED = ['SAMLRequest', 'RelayState', 'SigAlg'] as const

/** A message from a query, signed with one of these keys. */
export function messageInQuery(target: string, keys: readonly KeyObject[]): string {
  const raw = rawParameters(target)
  const value = (name: string): string => decoded(raw.get(name))
  if (value('Signature') === '') throw new SignatureFault('it is not signed')
  if (value('SigAlg') === '')
    throw new SignatureFault('it does not name the algorithm of its signature (SigAlg)')
  const algorithm = signatureAlgorithm(value('SigAlg'))
  if (algorithm === undefined)
    throw new SignatureFault('its signature algorithm is not supported; use RSA or ECDSA with SHA-256')
  // Over the text as sent: programs escape the same value differently.
  const signed = SIGNED.flatMap(name => (raw.has(name) ? [`${name}=${raw.get(name)}`] : [])).join('&')
  const signature = base64(value('Signature'))
  if (!signedByOne(keys, algorithm, { bytes: Buffer.from(signed, 'latin1'), signature }))
    throw new SignatureFault('its signature was not made by a key in the metadata of the identity provider')
  return inflated(base64(value('SAMLRequest')))
}

function rawParameters(target: string): Map<string, string> {
  const mark = target.indexOf('?')
  const found = new Map<string, string>()
  for (const part of mark < 0 ? [] : target.slice(mark + 1).split('&')) {
    const equals = part.indexOf('=')
    const name = equals < 0 ? part : part.slice(0, equals)
    if (found.has(name)) throw new XmlFault('a query parameter is repeated')
    found.set(name, equals < 0 ? '' : part.slice(equals + 1))
  }
  return found
}

function decoded(raw = ''): string {
  try {
    return decodeURIComponent(raw.replaceAll('+', ' '))
  } catch {
    throw new XmlFault('its query cannot be decoded')
  }
}

function inflated(bytes: Buffer): string {
  try {
    return inflateRawSync(bytes, { maxOutputLength: MAX_MESSAGE }).toString('utf8')
  } catch {
    throw new XmlFault('it cannot be decompressed')
  }
}
