import { kind } from '#contract/kind.ts'
import { integer, line, moment } from '#contract/schema.ts'
import { computed, idOf, idText, immutable, input, internal, optional } from '#contract/shape.ts'
import { owners } from '#contract/targets.ts'

const MAX_SECONDS = 600

export const capture = kind({
  name: 'capture',
  doc: 'Records headers and bodies of the requests for a host, an edge or a route, for a limited time.',
  prefix: 'cap',
  path: '/captures',
  listKey: 'captures',
  verbs: ['create', 'get', 'list', 'delete'],
  followedByGateway: true,
  owned: true,
  belongsTo: { kinds: owners.kinds, field: 'owner_id' },
  fields: {
    host: immutable(
      optional(
        line({ minLength: 1, maxBytes: 255 }),
        'A host name. Give exactly one of host, edge_id and route_id.',
      ),
    ),
    edge_id: immutable(
      optional(line({ minLength: 1, maxBytes: 64 }), 'An HTTPS edge, with all of its routes.'),
    ),
    route_id: immutable(optional(line({ minLength: 1, maxBytes: 64 }), 'One route of an HTTPS edge.')),
    duration: immutable(
      input(integer(1, MAX_SECONDS, { default: MAX_SECONDS }), 'Seconds until it ends, at most 600.'),
    ),
    expires_at: computed(moment(), 'When it ends.'),
    owner_id: immutable(
      idOf(
        owners,
        input(
          idText(owners),
          'The user or bot that owns it; by default the caller. Members capture only what they own.',
        ),
      ),
    ),
    /** `any` for one made by an admin, which is not limited to what its owner owns. */
    scope: internal(),
  },
})
