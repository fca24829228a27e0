import { kind } from '#contract/kind.ts'
import { anything, line, moment, nullable, object, oneOf, refSchema, type Static } from '#contract/schema.ts'
import { computed } from '#contract/shape.ts'

/** The first two are the hosted service's, so that its clients know them; the third is ours. */
const principalSource = oneOf('API', 'Dashboard', 'System')
export type PrincipalSource = Static<typeof principalSource>

export const auditEvent = kind({
  name: 'audit_event',
  doc: 'A change that somebody made, with who made it. The server keeps them for a set time.',
  prefix: 'ev',
  path: '/audit_events',
  listKey: 'audit_events',
  verbs: ['get', 'list'],
  live: true,
  adminOnly: true,
  event: false,
  filters: {
    principal: { doc: 'Only what the user or bot with this id did, or with this e-mail address or name.' },
    type: { doc: 'Only events of this type, such as ip_policy_created.v0.' },
    object_id: { doc: 'Only what was done to the resource with this id.' },
    ip: { doc: 'Only what was done from this address.' },
    since: { doc: 'Only what was done at this time or later.', moment: true },
    until: { doc: 'Only what was done before this time.', moment: true },
  },
  fields: {
    type: computed(line(), 'What was done, such as ip_policy_created.v0.'),
    principal: computed(
      nullable(
        object({
          id: line(),
          subject: line(),
          source: principalSource,
          credential: nullable(refSchema),
          ip: nullable(line()),
        }),
      ),
      'Who did it: a user or bot, by what way, with which API key, and from where. What the server did by itself, such as renewing a certificate, has the source System, and neither credential nor ip.',
    ),
    object: computed(anything(), 'The resource as it was then.'),
    occurred_at: computed(moment()),
  },
  without: ['created_at'],
})
