import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { suite, test } from 'node:test'
import { judge, type Attempt, type KeyRing } from '#ssh/sign-in.ts'
import { encodePublicKey } from '#pki/ssh-algorithm.ts'
import { sshFingerprint } from '#pki/ssh-key.ts'
import { uint32, uint64, wireString } from '#pki/ssh-wire.ts'

const NOW = Date.parse('2026-05-06T07:08:09Z')
const CERTIFICATE = 'ssh-ed25519-cert-v01@openssh.com'

interface Key {
  readonly secret: KeyObject
  readonly blob: Buffer
}

function newKey(): Key {
  const { privateKey } = generateKeyPairSync('ed25519')
  return { secret: privateKey, blob: encodePublicKey(createPublicKey(privateKey)) }
}

const authority = newKey()
const subject = newKey()
const ring: KeyRing = {
  credential: fingerprint =>
    fingerprint === sshFingerprint(authority.blob)
      ? { credentialId: 'cr_authority' }
      : { refused: 'unknown_key' },
  authorities: () => [{ id: 'sshca_1', key: authority.blob }],
  refresh: async () => undefined,
}

const option = (name: string, value: string): Buffer =>
  Buffer.concat([wireString(name), wireString(value === '' ? '' : wireString(value))])

interface Parts {
  readonly authorityBlob?: Buffer
  readonly signer?: KeyObject
  readonly options?: Buffer
  readonly principals?: readonly string[]
  readonly type?: number
}

/** A certificate put together by hand, so that it can be what no program would make. */
function certificate({
  authorityBlob = authority.blob,
  signer = authority.secret,
  options = Buffer.alloc(0),
  principals = ['ann'],
  type = 1,
}: Parts = {}): Buffer {
  const body = Buffer.concat([
    wireString(CERTIFICATE),
    wireString(randomBytes(32)),
    subject.blob.subarray(4 + 'ssh-ed25519'.length),
    uint64(0n),
    uint32(type),
    wireString('id'),
    wireString(Buffer.concat(principals.map(wireString))),
    uint64(0n),
    uint64(2n ** 64n - 1n),
    wireString(options),
    wireString(option('permit-port-forwarding', '')),
    wireString(''),
    wireString(authorityBlob),
  ])
  const signature = Buffer.concat([wireString('ssh-ed25519'), wireString(sign(null, body, signer))])
  return Buffer.concat([body, wireString(signature)])
}

const data = randomBytes(200)
const wrapped = (key: KeyObject): Buffer =>
  Buffer.concat([wireString('ssh-ed25519'), wireString(sign(null, data, key))])

const attempt = (key: Buffer, changes: Partial<Attempt> = {}): Attempt => ({
  user: 'ann',
  ip: '192.0.2.1',
  algorithm: CERTIFICATE,
  key,
  proof: { data, signature: wrapped(subject.secret), hash: undefined },
  ...changes,
})

const decide = (key: Buffer, changes: Partial<Attempt> = {}) => judge(attempt(key, changes), ring, NOW)

suite('a certificate', () => {
  test('is good when all of it is', () => {
    const identity = { credentialId: 'sshca_1', mayForward: true }
    assert.deepEqual(decide(certificate()), { identity, proven: true })
    assert.deepEqual(decide(certificate(), { proof: undefined }), { identity, proven: false })
  })

  const bad: Record<string, [Buffer, string]> = {
    'whose authority is itself a certificate': [
      certificate({ authorityBlob: certificate() }),
      'unknown_authority',
    ],
    'that was signed by another key': [certificate({ signer: subject.secret }), 'bad_signature'],
    'that its own key has signed': [
      certificate({ signer: subject.secret, authorityBlob: subject.blob }),
      'unknown_authority',
    ],
    'of a host': [certificate({ type: 2 }), 'wrong_type'],
    'of no known type': [certificate({ type: 3 }), 'bad_ssh_certificate'],
    'with two names in one': [certificate({ principals: ['bob,ann', 'ann '] }), 'wrong_principal'],
    'with an empty name': [certificate({ principals: [''] }), 'wrong_principal'],
    'with an unknown option': [certificate({ options: option('x@example.com', '') }), 'unknown_option'],
    'with an option twice': [
      certificate({ options: Buffer.concat([option('a', ''), option('a', '')]) }),
      'bad_ssh_certificate',
    ],
    'with a malformed source address': [
      certificate({ options: option('source-address', '!') }),
      'wrong_address',
    ],
    'followed by other bytes': [Buffer.concat([certificate(), Buffer.of(0)]), 'bad_ssh_certificate'],
    'that is too large': [Buffer.alloc(20_000), 'key_too_large'],
    'that is a plain key': [authority.blob, 'bad_ssh_certificate'],
  }
  for (const [name, [key, refused]] of Object.entries(bad))
    test(`${name} is refused`, () => assert.deepEqual(decide(key), { refused }))

  test('needs the signature of its own key', () => {
    for (const signature of [wrapped(authority.secret), randomBytes(83), Buffer.alloc(0)]) {
      const outcome = decide(certificate(), { proof: { data, signature, hash: undefined } })
      assert.ok('refused' in outcome)
    }
  })

  test('is not taken under the name of a key', () => {
    const outcome = decide(certificate(), { algorithm: 'ssh-ed25519' })
    assert.ok('refused' in outcome)
  })

  test('with any byte changed is refused', () => {
    const good = certificate()
    for (let at = 0; at < good.length; at++) {
      const changed = Buffer.from(good)
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8))
      assert.ok('refused' in decide(changed), `byte ${at}`)
    }
  })
})

suite('a key', () => {
  const signature = sign(null, data, authority.secret)
  const plain = { algorithm: 'ssh-ed25519', proof: { data, signature, hash: undefined } }

  test('is good with its own signature', () => {
    const identity = { credentialId: 'cr_authority', mayForward: true }
    assert.deepEqual(decide(authority.blob, plain), { identity, proven: true })
  })

  test('is refused with any bit of the signature changed', () => {
    for (let bit = 0; bit < signature.length * 8; bit++) {
      const changed = Buffer.from(signature)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const proof = { data, signature: changed, hash: undefined }
      assert.deepEqual(decide(authority.blob, { ...plain, proof }), { refused: 'bad_signature' })
    }
  })

  test('is refused under the name of another type', () =>
    assert.deepEqual(decide(authority.blob, { ...plain, algorithm: 'ssh-rsa' }), {
      refused: 'algorithm_mismatch',
    }))
})
