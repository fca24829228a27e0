import { isIP } from 'node:net'
import { refuse } from '#pki/pki-error.ts'
import type { KeyType } from '#pki/private-key.ts'
import { algorithmOfCertificate, readKeyFields } from '#pki/ssh-algorithm.ts'
import { TYPE_NUMBERS, type SshCertificateType } from '#pki/ssh-certificate.ts'
import { readKeyBlob, splitLine } from '#pki/ssh-key.ts'
import { CRITICAL_OPTIONS } from '#pki/ssh-options.ts'
import { readSourceAddresses } from '#pki/source-address.ts'
import { sshVerify } from '#pki/ssh-signature.ts'
import { WireReader, wireString } from '#pki/ssh-wire.ts'

export interface SshCertificate {
  /** The wire form of the certified public key. */
  readonly publicKey: Buffer
  readonly keyType: KeyType
  readonly serial: bigint
  readonly type: SshCertificateType
  readonly keyId: string
  readonly principals: readonly string[]
  /** Seconds since 1970. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly criticalOptions: ReadonlyMap<string, string>
  readonly extensions: ReadonlyMap<string, string>
  /** The wire form of the key of the authority. */
  readonly authority: Buffer
  readonly signed: Buffer
  readonly signature: Buffer
}

export interface Expectation {
  readonly type: SshCertificateType
  /** Wire forms of the keys of trusted authorities. */
  readonly authorities: readonly Buffer[]
  readonly principal: string
  /** The client's address; without it a certificate bound to addresses is rejected. */
  readonly address?: string | undefined
  readonly now?: number
}

type CertificateVerdict =
  { readonly accepted: true } | { readonly accepted: false; readonly reason: CertificateRefusal }

type CertificateRefusal =
  | 'unknown_authority'
  | 'bad_signature'
  | 'wrong_type'
  | 'not_yet_valid'
  | 'expired'
  | 'wrong_principal'
  | 'unknown_option'
  | 'wrong_address'

const BAD = 'bad_ssh_certificate'
/** OpenSSH's maximum, in base64. */
const MAX_LINE = 384 * 1024
const MAX_PRINCIPALS = 256
const MAX_OPTIONS = 256

/** Parses a certificate, as a line or in wire form, without trusting it: see `verifySshCertificate`. */
export function readSshCertificate(source: string | Buffer): SshCertificate {
  const blob = typeof source === 'string' ? splitLine(source, BAD, MAX_LINE).blob : source
  const reader = new WireReader(blob, BAD)
  const algorithm = algorithmOfCertificate(reader.text())
  if (algorithm === undefined) refuse(BAD, 'This is not an SSH certificate of a supported key type.')
  reader.bytes() // the nonce
  const start = reader.position
  readKeyFields(algorithm, reader, BAD)
  const publicKey = Buffer.concat([wireString(algorithm.name), reader.since(start)])
  const facts = {
    serial: reader.uint64(),
    type: certificateType(reader.uint32()),
    keyId: reader.text(),
    principals: readPrincipals(reader.bytes()),
    validAfter: reader.uint64(),
    validBefore: reader.uint64(),
    criticalOptions: readOptions(reader.bytes()),
    extensions: readOptions(reader.bytes()),
  }
  reader.bytes() // reserved
  const authority = reader.bytes()
  const signed = reader.since(0)
  const signature = reader.bytes()
  reader.end()
  return { publicKey, keyType: algorithm.keyType, ...facts, authority, signed, signature }
}

/** Whether a certificate is valid for this use. An empty list of principals matches no one, as in OpenSSH. */
export function verifySshCertificate(certificate: SshCertificate, expected: Expectation): CertificateVerdict {
  const reason = whyNot(certificate, expected)
  return reason === undefined ? { accepted: true } : { accepted: false, reason }
}

function whyNot(certificate: SshCertificate, expected: Expectation): CertificateRefusal | undefined {
  const { authority, type, validAfter, validBefore, principals, criticalOptions } = certificate
  const seconds = BigInt(Math.floor((expected.now ?? Date.now()) / 1000))
  if (!expected.authorities.some(trusted => trusted.equals(authority))) return 'unknown_authority'
  if (!hasGoodSignature(certificate)) return 'bad_signature'
  if (type !== expected.type) return 'wrong_type'
  if (seconds < validAfter) return 'not_yet_valid'
  if (seconds >= validBefore) return 'expired'
  if (!principals.includes(expected.principal)) return 'wrong_principal'
  const unknown = [...criticalOptions.keys()].some(name => type === 'host' || !CRITICAL_OPTIONS.has(name))
  if (unknown) return 'unknown_option'
  const source = criticalOptions.get('source-address')
  return source === undefined || isFrom(source, expected.address ?? '') ? undefined : 'wrong_address'
}

const hasGoodSignature = ({ authority, signed, signature }: SshCertificate): boolean =>
  holds(() => {
    const { algorithm, key } = readKeyBlob(authority, BAD)
    return sshVerify(algorithm, key, signed, signature)
  })

const isFrom = (source: string, address: string): boolean =>
  holds(() => readSourceAddresses(source).check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'))

/** A check that cannot be made counts as failed. */
function holds(check: () => boolean): boolean {
  try {
    return check()
  } catch {
    return false
  }
}

function certificateType(number: number): SshCertificateType {
  if (number === TYPE_NUMBERS.user) return 'user'
  if (number === TYPE_NUMBERS.host) return 'host'
  return refuse(BAD, 'The certificate is neither for a user nor for a host.')
}

function readPrincipals(bytes: Buffer): string[] {
  const reader = new WireReader(bytes, BAD)
  const principals: string[] = []
  while (!reader.atEnd) {
    if (principals.length === MAX_PRINCIPALS)
      refuse(BAD, `The certificate has more than ${MAX_PRINCIPALS} principals.`)
    principals.push(reader.text())
  }
  return principals
}

function readOptions(bytes: Buffer): Map<string, string> {
  const reader = new WireReader(bytes, BAD)
  const options = new Map<string, string>()
  while (!reader.atEnd) {
    const name = reader.text()
    if (options.has(name)) refuse(BAD, 'The certificate repeats an option.')
    if (options.size === MAX_OPTIONS) refuse(BAD, `The certificate has more than ${MAX_OPTIONS} options.`)
    options.set(name, readOptionValue(reader.bytes()))
  }
  return options
}

function readOptionValue(data: Buffer): string {
  if (data.length === 0) return ''
  const reader = new WireReader(data, BAD)
  const value = reader.text()
  reader.end()
  return value
}
