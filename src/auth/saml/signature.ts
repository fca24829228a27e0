import { createHash, timingSafeEqual, type KeyObject } from 'node:crypto'
import { digestAlgorithm, signatureAlgorithm, signedByOne } from '#auth/saml/algorithms.ts'
import { canonical } from '#auth/saml/canonical.ts'
import { ENVELOPED, EXCLUSIVE, SIGNATURE } from '#auth/saml/names.ts'
import {
  allNamed,
  attribute,
  base64,
  type Element,
  elementsOf,
  isNamed,
  maybeOne,
  one,
  readMessage,
  textIn,
} from '#auth/saml/xml.ts'

const MAX_PREFIXES = 64

/** An invalid signature; the message is the reason, as the end of a sentence. */
export class SignatureFault extends Error {
  override readonly name = 'SignatureFault'
}

const bad = (reason: string): never => {
  throw new SignatureFault(reason)
}

/** The signature of an element, as its direct child; undefined when there is none. */
export const signatureIn = (element: Element): Element | undefined =>
  maybeOne(element, SIGNATURE, 'Signature')

/**
 * The signed element, parsed again from exactly the bytes that the signature covers. Nothing may be read from the
 * document itself, which can contain more than was signed. Keys in the document are ignored.
 */
export function verified(element: Element, signature: Element, keys: readonly KeyObject[]): Element {
  const info = signedInfo(signature, keys)
  const reference = one(info, SIGNATURE, 'Reference')
  const id = attribute(element, 'ID')
  if (id === undefined || attribute(reference, 'URI') !== `#${id}`)
    bad('its signature does not cover its own element')
  const text = canonical(element, { without: signature, inclusive: prefixesOf(transformOf(reference)) })
  const hash = digestAlgorithm(algorithmOf(one(reference, SIGNATURE, 'DigestMethod')))
  if (hash === undefined) return bad('its digest algorithm is not supported; use SHA-256')
  const digest = createHash(hash).update(text).digest()
  const wanted = base64(textIn(one(reference, SIGNATURE, 'DigestValue')))
  if (digest.length !== wanted.length || !timingSafeEqual(digest, wanted))
    bad('it was changed after it was signed')
  return readMessage(text)
}

/** The SignedInfo, parsed from the bytes that the key has signed. */
function signedInfo(signature: Element, keys: readonly KeyObject[]): Element {
  // Objects can hide content that another parser finds first.
  if (!hasChildren(signature, ['SignedInfo', 'SignatureValue', 'KeyInfo']))
    bad('its signature has an unusual form')
  const given = one(signature, SIGNATURE, 'SignedInfo')
  const text = canonical(given, { inclusive: prefixesOf(canonicalization(given)) })
  const info = readMessage(text)
  if (allNamed(info, SIGNATURE, 'Reference').length !== 1 || elementsOf(info).length !== 3)
    bad('its signature is not over exactly one element')
  canonicalization(info)
  const algorithm = signatureAlgorithm(algorithmOf(one(info, SIGNATURE, 'SignatureMethod')))
  if (algorithm === undefined)
    return bad('its signature algorithm is not supported; use RSA or ECDSA with SHA-256')
  const value = base64(textIn(one(signature, SIGNATURE, 'SignatureValue')))
  if (!signedByOne(keys, algorithm, { bytes: Buffer.from(text), signature: value }))
    bad('its signature was not made by a key in the metadata of the identity provider')
  return info
}

/** Each at most once, in this order, and nothing else. */
function hasChildren(element: Element, names: readonly string[]): boolean {
  const found = elementsOf(element)
  const places = found.map(child => names.findIndex(name => isNamed(child, SIGNATURE, name)))
  return places.every((place, at) => place > (places[at - 1] ?? -1))
}

function canonicalization(info: Element): Element {
  const method = one(info, SIGNATURE, 'CanonicalizationMethod')
  return algorithmOf(method) === EXCLUSIVE
    ? method
    : bad('its signature does not use exclusive canonicalization')
}

/** SAML core §5.4.4: remove the signature, then canonicalize. */
function transformOf(reference: Element): Element {
  if (!hasChildren(reference, ['Transforms', 'DigestMethod', 'DigestValue']))
    bad('its signature has an unusual form')
  const [first, second, third] = elementsOf(one(reference, SIGNATURE, 'Transforms'))
  const isUsual =
    first !== undefined &&
    second !== undefined &&
    third === undefined &&
    [first, second].every(transform => isNamed(transform, SIGNATURE, 'Transform')) &&
    algorithmOf(first) === ENVELOPED &&
    algorithmOf(second) === EXCLUSIVE
  return isUsual ? second : bad('its signature has unusual transforms')
}

const algorithmOf = (element: Element): string => attribute(element, 'Algorithm') ?? ''

function prefixesOf(method: Element): string[] {
  const [only, second] = elementsOf(method)
  if (only === undefined) return []
  if (second !== undefined || !isNamed(only, EXCLUSIVE, 'InclusiveNamespaces'))
    return bad('its signature has an unusual form')
  const prefixes = (attribute(only, 'PrefixList') ?? '').split(/\s+/).filter(Boolean)
  return prefixes.length <= MAX_PREFIXES ? prefixes : bad('its signature has an unusual form')
}
