import { description, kind, metadata } from '#contract/kind.ts'
import { line, listOf, nullable } from '#contract/schema.ts'
import { computed, immutable, idOf, idText, input, internal } from '#contract/shape.ts'
import { owners } from '#contract/targets.ts'

export const acl = input(
  listOf(line({ maxBytes: 512, refusal: 'bad_acl' }), { maxItems: 100 }),
  'What agents with this credential may bind, as bind:<domain>, bind:<host>:<port> or bind:<label>=<value>; empty allows everything.',
)

export const credential = kind({
  name: 'credential',
  doc: 'The token with which agents connect.',
  prefix: 'cr',
  path: '/credentials',
  listKey: 'credentials',
  followedByGateway: true,
  event: 'tunnel_credential',
  owned: true,
  belongsTo: { kinds: owners.kinds, field: 'owner_id' },
  fields: {
    description: description('credential_description'),
    metadata: metadata('credential_metadata'),
    token: computed(nullable(line()), 'The authtoken: only in the response that creates it.'),
    token_hash: internal(),
    acl,
    owner_id: immutable(
      idOf(owners, input(idText(owners), 'The user or bot that owns the credential; by default the caller.')),
    ),
  },
})
