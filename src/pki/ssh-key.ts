import { createHash, type KeyObject } from 'node:crypto'
import { refuse, type PkiCode } from '#pki/pki-error.ts'
import type { KeyType } from '#pki/private-key.ts'
import { isCertificateAlgorithm, readKeyFields, sshAlgorithm, type SshAlgorithm } from '#pki/ssh-algorithm.ts'
import { WireReader } from '#pki/ssh-wire.ts'

export interface SshPublicKey {
  readonly keyType: KeyType
  /** The name on the wire, such as `ecdsa-sha2-nistp256`. */
  readonly algorithm: string
  readonly blob: Buffer
  readonly comment: string
  /** As in an authorized_keys file, with single spaces. */
  readonly line: string
  /** `SHA256:...`, as `ssh-keygen -l` shows it. */
  readonly fingerprint: string
}

const MAX_LINE = 16 * 1024

/** Parses one line of an authorized_keys file without options. */
export function readSshPublicKey(text: string): SshPublicKey {
  const { name, blob, comment } = splitLine(text, 'bad_public_key')
  const { algorithm } = readKeyBlob(blob, 'bad_public_key')
  if (algorithm.name !== name) refuse('bad_public_key', 'The key is not of the type that the line names.')
  const line = formatLine(name, blob, comment)
  return {
    keyType: algorithm.keyType,
    algorithm: name,
    blob,
    comment,
    line,
    fingerprint: sshFingerprint(blob),
  }
}

export const sshFingerprint = (blob: Buffer): string =>
  `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`

export const formatLine = (name: string, blob: Buffer, comment: string): string =>
  [name, blob.toString('base64'), comment].filter(part => part !== '').join(' ')

/** Splits a line into its type, data and comment without parsing the data. */
export function splitLine(
  text: string,
  code: PkiCode,
  limit = MAX_LINE,
): { name: string; blob: Buffer; comment: string } {
  if (text.length > limit) refuse(code, `The line is longer than ${limit} characters.`)
  const line = text.trim()
  if (line === '') refuse(code, 'The line is empty.')
  if (/[\r\n]/.test(line)) refuse(code, 'The text has several lines; give exactly one.')
  const [, name = '', base64 = '', comment = ''] =
    /^([!-~]+)[ \t]+([A-Za-z0-9+/=]+)(?:[ \t]+(.*))?$/.exec(line) ?? []
  if (base64 === '')
    refuse(code, 'The line is not of the form "type base64 comment"; options are not accepted.')
  // oxlint-disable-next-line no-control-regex -- these are what is refused
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(comment))
    refuse(code, 'The comment holds control characters.')
  const blob = Buffer.from(base64, 'base64')
  if (blob.toString('base64') !== base64) refuse(code, 'The second part of the line is not base64.')
  return { name, blob, comment }
}

/** Parses the wire form of a public key, which must fill the blob. */
export function readKeyBlob(blob: Buffer, code: PkiCode): { algorithm: SshAlgorithm; key: KeyObject } {
  const reader = new WireReader(blob, code)
  const name = reader.text()
  if (isCertificateAlgorithm(name)) refuse(code, 'This is a certificate; a plain public key is needed.')
  const algorithm = sshAlgorithm(name)
  if (algorithm === undefined) refuse('unsupported_key', 'The key must be an RSA, ECDSA or Ed25519 key.')
  const key = readKeyFields(algorithm, reader, code)
  reader.end()
  return { algorithm, key }
}
