import { verify, type KeyObject } from 'node:crypto'
import type { KeyMatch } from '#ssh/key-match.ts'
import { PkiError } from '#pki/pki-error.ts'
import { isCertificateAlgorithm, type SshAlgorithm } from '#pki/ssh-algorithm.ts'
import { readKeyBlob, sshFingerprint } from '#pki/ssh-key.ts'
import { sshVerify } from '#pki/ssh-signature.ts'
import { readSshCertificate, verifySshCertificate, type SshCertificate } from '#pki/ssh-verify.ts'

/** The identity of a key or certificate. */
export interface SshIdentity {
  /** The SSH credential of the key; for a certificate with an unregistered key, the CA that signed it. */
  readonly credentialId: string
  /** A certificate opens tunnels only with the extension that sshd requires too. */
  readonly mayForward: boolean
}

export interface TrustedAuthority {
  readonly id: string
  /** The wire form of its public key. */
  readonly key: Buffer
}

/** Look-ups for sign-in. */
export interface KeyRing {
  /** The SSH credential for a key with this fingerprint and this user name. */
  credential(fingerprint: string, user: string): KeyMatch
  authorities(): readonly TrustedAuthority[]
  /** Reads what other processes have just changed. Never rejects. */
  refresh(): Promise<void>
}

/** One public-key attempt as received; nothing of it is trusted. */
export interface Attempt {
  readonly user: string
  readonly ip: string
  /** The name the client sent; the one inside the key counts. */
  readonly algorithm: string
  readonly key: Buffer
  /** Undefined while the client only queries whether the key is acceptable. */
  readonly proof: KeyProof | undefined
}

interface KeyProof {
  /** What was signed: the session id and the request. */
  readonly data: Buffer
  readonly signature: Buffer
  /** The hash that ssh2 parsed from the name of an RSA algorithm; absent for SHA-1. */
  readonly hash: string | undefined
}

/** Why an attempt failed, only for the log: the client always gets the same response. */
export type AuthOutcome =
  { readonly identity: SshIdentity; readonly proven: boolean } | { readonly refused: string }

/** What a change of another process may have turned into a sign-in. */
const outdated: ReadonlySet<string> = new Set([
  'unknown_key',
  'ambiguous_key',
  'owner_inactive',
  'unknown_authority',
])

export const mayBeOutdated = (outcome: AuthOutcome): boolean =>
  'refused' in outcome && outdated.has(outcome.refused)

const CODE = 'bad_ssh_certificate'
const MAX_KEY_BYTES = 16 * 1024
const CURVE_HASHES: ReadonlyMap<string, string> = new Map([
  ['ecdsa-sha2-nistp256', 'sha256'],
  ['ecdsa-sha2-nistp384', 'sha384'],
  ['ecdsa-sha2-nistp521', 'sha512'],
])

/** Decides about one attempt. An identity counts only when it is proven; otherwise it is what the key would give. */
export function judge(attempt: Attempt, ring: KeyRing, now = Date.now()): AuthOutcome {
  if (attempt.key.length > MAX_KEY_BYTES) return { refused: 'key_too_large' }
  try {
    return isCertificateAlgorithm(attempt.algorithm)
      ? judgeCertificate(attempt, ring, now)
      : judgeKey(attempt, ring)
  } catch (error) {
    if (error instanceof PkiError) return { refused: error.code }
    throw error
  }
}

function judgeKey(attempt: Attempt, ring: KeyRing): AuthOutcome {
  const { algorithm, key } = readKeyBlob(attempt.key, 'bad_public_key')
  if (algorithm.name !== attempt.algorithm) return { refused: 'algorithm_mismatch' }
  if (algorithm.token) return { refused: 'token_key' }
  const match = ring.credential(sshFingerprint(attempt.key), attempt.user)
  if ('refused' in match) return match
  if (attempt.proof && !isProven(algorithm, key, attempt.proof)) return { refused: 'bad_signature' }
  return { identity: { ...match, mayForward: true }, proven: attempt.proof !== undefined }
}

/** ssh2 has unwrapped the signature and converted ECDSA ones to DER. */
function isProven(algorithm: SshAlgorithm, key: KeyObject, { data, signature, hash }: KeyProof): boolean {
  switch (algorithm.keyType) {
    case 'rsa':
      return hash !== undefined && verify(hash, data, key, signature)
    case 'ecdsa':
      return verify(
        CURVE_HASHES.get(algorithm.name) ?? 'sha256',
        data,
        { key, dsaEncoding: 'der' },
        signature,
      )
    case 'ed25519':
      return signature.length === 64 && verify(null, data, key, signature)
  }
}

/** ssh2 does not support certificates: it passes on the blob, and the signature as received. */
function judgeCertificate(attempt: Attempt, ring: KeyRing, now: number): AuthOutcome {
  const certificate = readSshCertificate(attempt.key)
  const authorities = ring.authorities()
  const verdict = verifySshCertificate(certificate, {
    type: 'user',
    authorities: authorities.map(({ key }) => key),
    principal: attempt.user,
    address: attempt.ip,
    now,
  })
  if (!verdict.accepted) return { refused: verdict.reason }
  // Nothing is executed here, so force-command cannot be honoured.
  if (certificate.criticalOptions.has('force-command')) return { refused: 'force_command' }
  if (attempt.proof && !isProvenBySubject(certificate, attempt.proof)) return { refused: 'bad_signature' }
  const authority = authorities.find(({ key }) => key.equals(certificate.authority))
  const match = ring.credential(sshFingerprint(certificate.publicKey), attempt.user)
  // A certificate with an unregistered key counts as its CA.
  const isUnknown = 'refused' in match && match.refused === 'unknown_key'
  if ('refused' in match && !isUnknown) return match
  const credentialId = 'refused' in match ? authority?.id : match.credentialId
  if (credentialId === undefined) return { refused: 'unknown_authority' }
  const mayForward = certificate.extensions.has('permit-port-forwarding')
  return { identity: { credentialId, mayForward }, proven: attempt.proof !== undefined }
}

function isProvenBySubject({ publicKey }: SshCertificate, { data, signature }: KeyProof): boolean {
  const { algorithm, key } = readKeyBlob(publicKey, CODE)
  return sshVerify(algorithm, key, data, signature)
}
