import { createPublicKey, type KeyObject, type webcrypto } from 'node:crypto'
import { refuse, refuseAs, type PkiCode } from '#pki/pki-error.ts'
import { keyTypeOf, type KeyType } from '#pki/private-key.ts'
import { rsaBitsFault } from '#pki/rsa-size.ts'
import { type WireReader, mpint, wireString } from '#pki/ssh-wire.ts'

/** The specifics of one SSH public key algorithm: its fields, and the conversion to a Node key. */
export interface SshAlgorithm {
  readonly name: string
  readonly keyType: KeyType
  /** Reads the fields after the name and returns them as a JWK, which rejects invalid keys. */
  readonly read: (fields: WireReader, refuseKey: (message: string) => never) => webcrypto.JsonWebKey
  /** Keys in a security token sign other data than requested, so they cannot be CAs. */
  readonly token: boolean
}

const CURVES = [
  { ssh: 'nistp256', jwk: 'P-256', size: 32 },
  { ssh: 'nistp384', jwk: 'P-384', size: 48 },
  { ssh: 'nistp521', jwk: 'P-521', size: 66 },
] as const

type Curve = (typeof CURVES)[number]

const url = (bytes: Buffer): string => bytes.toString('base64url')

const readRsa: SshAlgorithm['read'] = (fields, refuseKey) => {
  const e = fields.mpint()
  const n = fields.mpint()
  const bits = n.length * 8 - Math.clz32(n.readUInt8(0)) + 24
  const fault = rsaBitsFault(bits)
  if (fault !== undefined) refuse('unsupported_key', `${fault}.`)
  // Larger exponents have no use, and make verification slow.
  const exponent = e.length > 4 ? 0 : e.readUIntBE(0, e.length)
  if (exponent < 3 || exponent % 2 === 0) refuseKey('The RSA key has an unusual exponent.')
  return { kty: 'RSA', n: url(n), e: url(e) }
}

const readEcdsa =
  (curve: Curve): SshAlgorithm['read'] =>
  (fields, refuseKey) => {
    if (fields.text() !== curve.ssh) refuseKey('The curve of the key is not the one of its type.')
    const point = fields.bytes()
    if (point[0] !== 4 || point.length !== 1 + 2 * curve.size) refuseKey('The ECDSA key is malformed.')
    const x = point.subarray(1, 1 + curve.size)
    return { kty: 'EC', crv: curve.jwk, x: url(x), y: url(point.subarray(1 + curve.size)) }
  }

const readEd25519: SshAlgorithm['read'] = (fields, refuseKey) => {
  const x = fields.bytes()
  if (x.length !== 32) refuseKey('The Ed25519 key is malformed.')
  return { kty: 'OKP', crv: 'Ed25519', x: url(x) }
}

const inToken =
  (read: SshAlgorithm['read']): SshAlgorithm['read'] =>
  (fields, refuseKey) => {
    const key = read(fields, refuseKey)
    fields.text() // the application the token made the key for
    return key
  }

const LIST: readonly SshAlgorithm[] = [
  { name: 'ssh-rsa', keyType: 'rsa', read: readRsa, token: false },
  { name: 'ssh-ed25519', keyType: 'ed25519', read: readEd25519, token: false },
  { name: 'sk-ssh-ed25519@openssh.com', keyType: 'ed25519', read: inToken(readEd25519), token: true },
  {
    name: 'sk-ecdsa-sha2-nistp256@openssh.com',
    keyType: 'ecdsa',
    read: inToken(readEcdsa(CURVES[0])),
    token: true,
  },
  ...CURVES.map(
    curve =>
      ({ name: `ecdsa-sha2-${curve.ssh}`, keyType: 'ecdsa', read: readEcdsa(curve), token: false }) as const,
  ),
]

const ALGORITHMS: ReadonlyMap<string, SshAlgorithm> = new Map(
  LIST.map(algorithm => [algorithm.name, algorithm]),
)

const CERTIFICATE_SUFFIX = '-cert-v01@openssh.com'

export const sshAlgorithm = (name: string): SshAlgorithm | undefined => ALGORITHMS.get(name)

/** `ssh-rsa` → `ssh-rsa-cert-v01@openssh.com`, and the same for token keys, whose names have the same ending. */
export const certificateAlgorithm = (name: string): string =>
  name.replace(/@openssh\.com$/, '') + CERTIFICATE_SUFFIX

export const isCertificateAlgorithm = (name: string): boolean => name.endsWith(CERTIFICATE_SUFFIX)

export function algorithmOfCertificate(name: string): SshAlgorithm | undefined {
  if (!isCertificateAlgorithm(name)) return undefined
  const key = name.slice(0, -CERTIFICATE_SUFFIX.length)
  return ALGORITHMS.get(key) ?? ALGORITHMS.get(`${key}@openssh.com`)
}

/** Reads the key fields of an algorithm and checks that they are a usable key. */
export function readKeyFields(algorithm: SshAlgorithm, fields: WireReader, code: PkiCode): KeyObject {
  const jwk = algorithm.read(fields, message => refuse(code, message))
  return refuseAs(code, 'The public key is not valid for its type.', () =>
    createPublicKey({ key: jwk, format: 'jwk' }),
  )
}

/** The wire form of a public key. */
export function encodePublicKey(key: KeyObject): Buffer {
  const jwk = key.export({ format: 'jwk' })
  const part = (name: 'n' | 'e' | 'x' | 'y') => Buffer.from(jwk[name] ?? '', 'base64url')
  switch (keyTypeOf(key)) {
    case 'rsa':
      return Buffer.concat([wireString('ssh-rsa'), mpint(part('e')), mpint(part('n'))])
    case 'ed25519':
      return Buffer.concat([wireString('ssh-ed25519'), wireString(part('x'))])
    case 'ecdsa': {
      const curve = CURVES.find(each => each.jwk === jwk.crv)
      if (curve === undefined) return refuse('unsupported_key', 'The curve of the key is not supported.')
      const point = Buffer.concat([Buffer.of(4), part('x'), part('y')])
      return Buffer.concat([wireString(`ecdsa-sha2-${curve.ssh}`), wireString(curve.ssh), wireString(point)])
    }
  }
}
