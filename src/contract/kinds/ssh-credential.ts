import { description, kind, metadata } from '#contract/kind.ts'
import { acl } from '#contract/kinds/credential.ts'
import { line } from '#contract/schema.ts'
import { immutable, idOf, idText, input, required } from '#contract/shape.ts'
import { owners } from '#contract/targets.ts'

export const sshCredential = kind({
  name: 'ssh_credential',
  doc: 'An SSH public key with which ssh -R opens tunnels.',
  prefix: 'sshcr',
  earlierPrefix: 'cr',
  path: '/ssh_credentials',
  listKey: 'ssh_credentials',
  followedByGateway: true,
  event: 'ssh_public_key',
  owned: true,
  belongsTo: { kinds: owners.kinds, field: 'owner_id' },
  fields: {
    description: description('credential_description'),
    metadata: metadata('credential_metadata'),
    public_key: required(
      immutable(input(line({ maxBytes: 16_384, missing: 'ssh_key_missing' }), 'One authorized-keys line.')),
    ),
    acl,
    owner_id: immutable(
      idOf(owners, input(idText(owners), 'The user or bot that owns the key; by default the caller.')),
    ),
  },
})
