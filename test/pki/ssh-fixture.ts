import assert from 'node:assert/strict'
import { newSshAuthority, type AuthorityRequest, type SshAuthority } from '#pki/ssh-authority.ts'
import type { UserCertificateRequest } from '#pki/ssh-certificate.ts'
import { readSshPublicKey } from '#pki/ssh-key.ts'
import type { Expectation } from '#pki/ssh-verify.ts'
import { newSshKey } from '../support/openssh.ts'
import { Folder } from '../support/folder.ts'

export const AUTHORITIES: Record<string, AuthorityRequest> = {
  rsa: { keyType: 'rsa', bits: 2048 },
  nistp256: { keyType: 'ecdsa' },
  nistp384: { keyType: 'ecdsa', curve: '384' },
  nistp521: { keyType: 'ecdsa', curve: 'P-521' },
  ed25519: {},
}

/** The types and sizes that ssh-keygen makes, and what the API calls them. */
export const SUBJECTS = {
  rsa: ['rsa', 2048, 'rsa'],
  nistp256: ['ecdsa', 256, 'ecdsa'],
  nistp384: ['ecdsa', 384, 'ecdsa'],
  nistp521: ['ecdsa', 521, 'ecdsa'],
  ed25519: ['ed25519', undefined, 'ed25519'],
} as const

export const NOW = Date.parse('2026-05-06T07:08:09Z')
export const HOUR = 3_600_000

/** One key of each type made by ssh-keygen and one authority of each type made by us. */
export class SshFixture implements AsyncDisposable {
  readonly folder: Folder
  readonly #subjects = new Map<string, string>()
  readonly #authorities = new Map<string, SshAuthority>()

  private constructor(folder: Folder) {
    this.folder = folder
  }

  static async make(): Promise<SshFixture> {
    const fixture = new SshFixture(new Folder())
    for (const [name, [type, bits]] of Object.entries(SUBJECTS))
      fixture.#subjects.set(name, await newSshKey(fixture.folder, `subject ${name}`, type, bits))
    for (const [name, request] of Object.entries(AUTHORITIES))
      fixture.#authorities.set(name, await newSshAuthority(request))
    return fixture
  }

  subject(name = 'ed25519'): string {
    return this.#subjects.get(name) ?? assert.fail(name)
  }

  authority(name = 'ed25519'): SshAuthority {
    return this.#authorities.get(name) ?? assert.fail(name)
  }

  request(changes: Partial<UserCertificateRequest> = {}): UserCertificateRequest {
    return {
      type: 'user',
      publicKey: this.subject(),
      keyId: 'sucrt_2abc',
      principals: ['root', 'ec2-user'],
      criticalOptions: {},
      extensions: { 'permit-user-rc': '', 'permit-pty': '' },
      validAfter: new Date(NOW),
      validUntil: new Date(NOW + HOUR),
      ...changes,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.folder[Symbol.dispose]()
  }
}

export const refusal = (code: string) => ({ name: 'PkiError', code })

export const refused = (reason: string) => ({ accepted: false, reason })

export const expectation = ({ publicKey }: Pick<SshAuthority, 'publicKey'>): Expectation => ({
  type: 'user',
  authorities: [readSshPublicKey(publicKey).blob],
  principal: 'root',
  now: NOW,
})
