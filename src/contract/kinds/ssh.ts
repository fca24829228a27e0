import { description, kind, metadata, owner } from '#contract/kind.ts'
import { also, integer, line, listOf, mapOf, moment, oneOf, text } from '#contract/schema.ts'
import {
  computed,
  immutable,
  idOf,
  idText,
  input,
  optional,
  ownSecret,
  required,
  writeOnly,
  type Field,
} from '#contract/shape.ts'
import { sshAuthorities } from '#contract/targets.ts'

const about = {
  description: description('ssh_description'),
  metadata: metadata('ssh_metadata'),
  owner_id: owner(),
}
const keyType = computed(oneOf('rsa', 'ecdsa', 'ed25519'), 'The type of key.')

/** Parameters for creating the key; not part of the resource. */
const made = <F extends Field>(field: F) => writeOnly(immutable(field))

export const sshCertificateAuthority = kind({
  name: 'ssh_certificate_authority',
  doc: 'A key that signs SSH user and host certificates.',
  prefix: 'sshca',
  path: '/ssh_certificate_authorities',
  listKey: 'ssh_certificate_authorities',
  followedByGateway: true,
  inUse: 'ssh_ca_in_use',
  fields: {
    ...about,
    public_key: computed(line(), 'The public key as an authorized-keys line.'),
    key_type: keyType,
    private_key_type: made(
      input(
        also(oneOf('rsa', 'ecdsa', 'ed25519'), { default: 'ed25519', refusal: 'ssh_key_type' }),
        'The type of key to create; default ed25519.',
      ),
    ),
    elliptic_curve: made(input(line({ maxBytes: 32 }), 'For ecdsa: 256, 384 or 521.')),
    key_size: made(optional(integer(0, 65_536, { refusal: 'ssh_rsa_size' }), 'For rsa: 2048 or 4096.')),
    private_key: ownSecret(),
  },
})

const certificateFields = {
  ...about,
  public_key: required(
    immutable(
      input(
        line({ maxBytes: 16_384, missing: 'ssh_public_key_missing' }),
        'The key to certify, as an authorized-keys line.',
      ),
    ),
  ),
  key_type: keyType,
  ssh_certificate_authority_id: required(
    immutable(
      idOf(
        sshAuthorities,
        input(idText(sshAuthorities, { missing: 'ssh_ca_missing' }), 'The CA that signs.'),
      ),
    ),
  ),
  principals: immutable(
    input(listOf(text({ maxBytes: 255 }), { maxItems: 256 }), 'User or host names of the holder.'),
  ),
  valid_after: immutable(input(moment(), 'Start of validity; default now.')),
  valid_until: immutable(input(moment(), 'End of validity.')),
  certificate: computed(line(), 'The signed certificate, as an authorized-keys line.'),
}

export const sshUserCertificate = kind({
  name: 'ssh_user_certificate',
  doc: 'Allows the holder of a key to sign in to SSH servers that trust the CA.',
  prefix: 'sucrt',
  path: '/ssh_user_certificates',
  listKey: 'ssh_user_certificates',
  fields: {
    ...certificateFields,
    critical_options: immutable(
      input(mapOf(text({ maxBytes: 4096 }), { maxProperties: 16 }), 'force-command and source-address.'),
    ),
    extensions: immutable(
      optional(
        mapOf(text({ maxBytes: 4096 }), { maxProperties: 32 }),
        'Permissions of the session; default permit-pty and permit-user-rc.',
      ),
    ),
  },
})

export const sshHostCertificate = kind({
  name: 'ssh_host_certificate',
  doc: 'Identifies a server to SSH clients that trust the CA.',
  prefix: 'shcrt',
  path: '/ssh_host_certificates',
  listKey: 'ssh_host_certificates',
  fields: certificateFields,
})
