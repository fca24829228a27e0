import { createPublicKey, randomBytes, type KeyObject } from 'node:crypto'
import type { Secret } from '#base/secrets.ts'
import { refuse } from '#pki/pki-error.ts'
import { readPrivateKey } from '#pki/private-key.ts'
import { certificateAlgorithm, encodePublicKey } from '#pki/ssh-algorithm.ts'
import { formatLine, readKeyBlob, readSshPublicKey, type SshPublicKey } from '#pki/ssh-key.ts'
import { encodeCriticalOptions, encodeExtensions, encodePrincipals, plainText } from '#pki/ssh-options.ts'
import { sshSign } from '#pki/ssh-signature.ts'
import { uint32, uint64, wireString } from '#pki/ssh-wire.ts'

export type SshCertificateType = 'user' | 'host'

/** The numbers of PROTOCOL.certkeys. */
export const TYPE_NUMBERS = { user: 1, host: 2 } as const

interface Request {
  /** Authorized_keys line of the key to certify. */
  readonly publicKey: string
  /** Shown in the logs of servers; the id of the resource. */
  readonly keyId: string
  readonly principals: readonly string[]
  readonly validAfter: Date
  readonly validUntil: Date
}

export interface UserCertificateRequest extends Request {
  readonly type: 'user'
  readonly criticalOptions: Readonly<Record<string, string>>
  readonly extensions: Readonly<Record<string, string>>
}

/** OpenSSH defines no options for hosts. */
interface HostCertificateRequest extends Request {
  readonly type: 'host'
}

type SshCertificateRequest = UserCertificateRequest | HostCertificateRequest

/** Signs a certificate and returns it as a line whose comment is the key id. */
export async function signSshCertificate(
  request: SshCertificateRequest,
  authorityPem: Secret,
): Promise<string> {
  const subject = readSshPublicKey(request.publicKey)
  const authority = readPrivateKey(authorityPem.reveal())
  const authorityBlob = encodePublicKey(createPublicKey(authority))
  const signed = Buffer.concat([unsigned(subject, request), wireString(authorityBlob)])
  const signature = await signedBy(authority, authorityBlob, signed)
  const blob = Buffer.concat([signed, wireString(signature)])
  return formatLine(certificateAlgorithm(subject.algorithm), blob, request.keyId)
}

const signedBy = (authority: KeyObject, authorityBlob: Buffer, data: Buffer): Promise<Buffer> =>
  sshSign(readKeyBlob(authorityBlob, 'bad_key').algorithm, authority, data)

function unsigned(subject: SshPublicKey, request: SshCertificateRequest): Buffer {
  const { type, keyId, principals } = request
  const { criticalOptions, extensions } = type === 'user' ? request : { criticalOptions: {}, extensions: {} }
  return Buffer.concat([
    wireString(certificateAlgorithm(subject.algorithm)),
    wireString(randomBytes(32)),
    subject.blob.subarray(4 + subject.algorithm.length),
    uint64(0n),
    uint32(TYPE_NUMBERS[type]),
    wireString(plainText('bad_key_id', 'The key id', keyId)),
    wireString(encodePrincipals(principals)),
    ...validity(request),
    wireString(encodeCriticalOptions(criticalOptions)),
    wireString(encodeExtensions(extensions)),
    wireString(''),
  ])
}

/** Whole seconds since 1970, the only times of a certificate. */
function validity({ validAfter, validUntil }: Request): Buffer[] {
  const [after, until] = [validAfter, validUntil].map(moment => Math.floor(moment.getTime() / 1000))
  if (after === undefined || until === undefined || !(after >= 0) || Number.isNaN(until))
    refuse('bad_validity', 'The times of a certificate must be moments after 1970.')
  if (until <= after) refuse('bad_validity', 'The certificate must end at least one second after it starts.')
  return [uint64(BigInt(after)), uint64(BigInt(until))]
}
