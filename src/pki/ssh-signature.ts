import { sign, verify, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { SshAlgorithm } from '#pki/ssh-algorithm.ts'
import { WireReader, mpint, wireString } from '#pki/ssh-wire.ts'

const signOnThread = promisify(
  (
    hash: string | null,
    data: Buffer,
    key: SigningKey,
    done: (error: Error | null, signature: Buffer) => void,
  ) => sign(hash, data, key, done),
)

interface SigningKey {
  readonly key: KeyObject
  readonly dsaEncoding: 'ieee-p1363'
}

/** The hash of each signature algorithm (RFC 5656 §6.2.1, RFC 8332). SHA-1 signatures (`ssh-rsa`) are not supported. */
const HASHES: ReadonlyMap<string, string | null> = new Map([
  ['rsa-sha2-512', 'sha512'],
  ['rsa-sha2-256', 'sha256'],
  ['ecdsa-sha2-nistp256', 'sha256'],
  ['ecdsa-sha2-nistp384', 'sha384'],
  ['ecdsa-sha2-nistp521', 'sha512'],
  ['ssh-ed25519', null],
])

const ECDSA_SIZES = { sha256: 32, sha384: 48, sha512: 66 } as const

/** Signs on a thread: a large RSA key takes milliseconds, which must not block other connections. */
export async function sshSign(algorithm: SshAlgorithm, key: KeyObject, data: Buffer): Promise<Buffer> {
  const name = algorithm.keyType === 'rsa' ? 'rsa-sha2-512' : algorithm.name
  const signature = await signOnThread(HASHES.get(name) ?? null, data, { key, dsaEncoding: 'ieee-p1363' })
  const half = signature.length / 2
  const body =
    algorithm.keyType === 'ecdsa'
      ? Buffer.concat([mpint(signature.subarray(0, half)), mpint(signature.subarray(half))])
      : signature
  return Buffer.concat([wireString(name), wireString(body)])
}

/** Whether this key made the signature over the data. */
export function sshVerify(algorithm: SshAlgorithm, key: KeyObject, data: Buffer, signature: Buffer): boolean {
  if (algorithm.token) return false
  const reader = new WireReader(signature, 'bad_ssh_certificate')
  const name = reader.text()
  const body = reader.bytes()
  reader.end()
  const hash = HASHES.get(name)
  const fits = algorithm.keyType === 'rsa' ? name.startsWith('rsa-') : name === algorithm.name
  if (hash === undefined || !fits) return false
  return verify(
    hash,
    data,
    { key, dsaEncoding: 'ieee-p1363' },
    algorithm.keyType === 'ecdsa' ? flat(body, hash) : body,
  )
}

/** The two numbers of an ECDSA signature, each padded to the size of the curve. */
function flat(body: Buffer, hash: string | null): Buffer {
  const size = hash === 'sha256' || hash === 'sha384' || hash === 'sha512' ? ECDSA_SIZES[hash] : 0
  const reader = new WireReader(body, 'bad_ssh_certificate')
  const numbers = [reader.mpint(), reader.mpint()]
  reader.end()
  const padded = numbers.map(number =>
    Buffer.concat([Buffer.alloc(Math.max(0, size - number.length)), number]),
  )
  return Buffer.concat(padded)
}
