import type { credential } from '#contract/kinds/credential.ts'
import type { sshCredential } from '#contract/kinds/ssh-credential.ts'
import type { sshCertificateAuthority } from '#contract/kinds/ssh.ts'
import { textOf } from '#registry/records/keys.ts'
import type { Owner } from '#registry/records/owners.ts'
import type { RowOf, SourceRow } from '#registry/records/source.ts'

export interface Credential {
  readonly id: string
  /** What may be bound with it; empty allows everything. */
  readonly acl: readonly string[]
  readonly ownerId: string
  /** False: it is rejected, because its owner is not active or does not exist. */
  readonly active: boolean
}

/** What a session can be authenticated by. */
export type CredentialRow =
  RowOf<typeof credential> | RowOf<typeof sshCredential> | RowOf<typeof sshCertificateAuthority>

/** The credentials of sessions. */
export const credentialKinds: readonly string[] = [
  'credential',
  'ssh_credential',
  'ssh_certificate_authority',
]

export const isCredential = (row: SourceRow): row is CredentialRow => credentialKinds.includes(row.kind)

export function credentialOf(row: CredentialRow, owner: Owner | undefined): Credential {
  const ownerId = textOf(row, 'owner_id')
  return {
    id: row.id,
    acl: ('acl' in row.body ? row.body.acl : undefined) ?? [],
    ownerId,
    active: ownerId === '' || owner?.active === true,
  }
}
