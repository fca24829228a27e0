import { description, kind, metadata } from '#contract/kind.ts'
import { line, nullable } from '#contract/schema.ts'
import { computed, immutable, idOf, idText, input, internal } from '#contract/shape.ts'
import { owners } from '#contract/targets.ts'

export const apiKey = kind({
  name: 'api_key',
  doc: 'A bearer token for this API.',
  prefix: 'ak',
  path: '/api_keys',
  listKey: 'keys',
  owned: true,
  belongsTo: { kinds: owners.kinds, field: 'owner_id' },
  fields: {
    description: description(),
    metadata: metadata(),
    token: computed(nullable(line()), 'The bearer token: only in the response that creates it.'),
    token_hash: internal(),
    owner_id: immutable(
      idOf(owners, input(idText(owners), 'The user or bot that owns the key; by default the caller.')),
    ),
  },
})
