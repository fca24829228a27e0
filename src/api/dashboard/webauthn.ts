import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto'
import { sameText } from '#base/secrets.ts'

/**
 * Verifies WebAuthn responses (W3C Web Authentication Level 3, §7). Written here because browsers give the public key as
 * SPKI and attestation is not used: what remains are a few checks on node:crypto, for which the usual library brings
 * packages for ASN.1, CBOR and certificate chains.
 */

/** Why a response is rejected, as the end of a sentence. */
export class WebAuthnError extends Error {}

const reject = (reason: string): never => {
  throw new WebAuthnError(reason)
}

interface Expected {
  readonly type: 'webauthn.create' | 'webauthn.get'
  /** The origin of the page, such as https://dashboard.example.com. */
  readonly origin: string
  /** Whether a challenge was made here for this purpose, and not long ago. */
  readonly isChallenge: (challenge: string) => boolean
}

interface AuthenticatorResponse {
  readonly client_data: string
  readonly authenticator_data: string
}

const MIN_AUTHENTICATOR_BYTES = 37
const HASH_BYTES = 32
const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04
const HAS_CREDENTIAL = 0x40
/** After hash, flags, counter and the identifier of the authenticator. */
const ID_LENGTH_AT = 53

const sha256 = (bytes: Buffer | string): Buffer => createHash('sha256').update(bytes).digest()
const decoded = (text: string): Buffer => Buffer.from(text, 'base64url')

/** Checks what the browser and the authenticator report; returns the counter of the authenticator. */
export function checkResponse(
  { client_data: clientData, authenticator_data: data }: AuthenticatorResponse,
  { type, origin, isChallenge }: Expected,
): number {
  const client = readClientData(decoded(clientData))
  if (client.type !== type) reject('the response is for another purpose')
  if (client.origin !== origin || client.crossOrigin === true) reject('the response is of another origin')
  if (!isChallenge(Buffer.from(client.challenge, 'base64url').toString()))
    reject('the challenge is not valid any more')
  const authenticator = decoded(data)
  if (authenticator.length < MIN_AUTHENTICATOR_BYTES) reject('the response is not complete')
  const host = sha256(new URL(origin).hostname).toString('hex')
  if (!sameText(authenticator.toString('hex', 0, HASH_BYTES), host)) reject('the passkey is for another host')
  const flags = authenticator[HASH_BYTES] ?? 0
  if ((flags & USER_PRESENT) === 0 || (flags & USER_VERIFIED) === 0)
    reject('the device has not verified its user')
  return authenticator.readUInt32BE(HASH_BYTES + 1)
}

interface ClientData {
  readonly type: string
  readonly challenge: string
  readonly origin: string
  readonly crossOrigin: boolean | undefined
}

function readClientData(bytes: Buffer): ClientData {
  let read: unknown
  try {
    read = JSON.parse(bytes.toString())
  } catch {
    return reject('the response is not JSON')
  }
  const { type, challenge, origin, crossOrigin } = Object(read) as Record<string, unknown>
  if (typeof type !== 'string' || typeof challenge !== 'string' || typeof origin !== 'string')
    return reject('the response is not complete')
  return { type, challenge, origin, crossOrigin: crossOrigin === true }
}

/** The credential of a new passkey must be the one that the authenticator has made. */
export function checkNewCredential(authenticatorData: string, credentialId: string): void {
  const data = decoded(authenticatorData)
  const hasCredential = ((data[HASH_BYTES] ?? 0) & HAS_CREDENTIAL) !== 0 && data.length >= ID_LENGTH_AT + 2
  const length = hasCredential ? data.readUInt16BE(ID_LENGTH_AT) : 0
  const made = data.subarray(ID_LENGTH_AT + 2, ID_LENGTH_AT + 2 + length).toString('base64url')
  if (length === 0 || made !== credentialId) reject('the device has made another credential')
}

/** The keys of the requested algorithms: ES256, EdDSA and RS256. */
export function readPublicKey(spki: string): KeyObject {
  const key = asKey(spki)
  const { namedCurve, modulusLength = 0 } = key?.asymmetricKeyDetails ?? {}
  const isGood =
    (key?.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') ||
    key?.asymmetricKeyType === 'ed25519' ||
    (key?.asymmetricKeyType === 'rsa' && modulusLength >= 2048 && modulusLength <= 4096)
  return key && isGood ? key : reject('its key has another algorithm than those requested')
}

function asKey(spki: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: decoded(spki), format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}

/** Checks the signature of a sign-in. */
export function checkSignature(
  { client_data: clientData, authenticator_data: data }: AuthenticatorResponse,
  signature: string,
  spki: string,
): void {
  const key = readPublicKey(spki)
  const signed = Buffer.concat([decoded(data), sha256(decoded(clientData))])
  const algorithm = key.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  if (!verify(algorithm, signed, key, decoded(signature))) reject('the signature is wrong')
}
