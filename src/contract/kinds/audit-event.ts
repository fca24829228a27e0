import { kind } from '#contract/kind.ts'
import { anything, line, moment, nullable, object, oneOf, refSchema, type Static } from '#contract/schema.ts'
import { computed } from '#contract/shape.ts'

/** The first two are the hosted service's, known to its clients; the third is Adit's own. */
const principalSource = oneOf('API', 'Dashboard', 'System')
export type PrincipalSource = Static<typeof principalSource>

export const auditEvent = kind({
  name: 'audit_event',
  doc: 'A recorded change, with who made it. The setting audit_days is the number of days for which they are kept.',
  prefix: 'ev',
  path: '/audit_events',
  listKey: 'audit_events',
  verbs: ['get', 'list'],
  live: true,
  adminOnly: true,
  event: false,
  filters: {
    principal: { doc: 'Only changes by the user or bot with this id, e-mail address or name.' },
    type: { doc: 'Only events of this type, such as ip_policy_created.v0.' },
    object_id: { doc: 'Only changes of the resource with this id.' },
    ip: { doc: 'Only changes from this address.' },
    since: { doc: 'Only changes at this time or later.', moment: true },
    until: { doc: 'Only changes before this time.', moment: true },
  },
  fields: {
    type: computed(line(), 'The event type, such as ip_policy_created.v0.'),
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
      'Who made the change: a user or bot, the source, the API key, and the address. Changes by the server itself, such as a renewed certificate, have the source System, and neither credential nor ip.',
    ),
    object: computed(anything(), 'The resource at that time.'),
    occurred_at: computed(moment()),
  },
  without: ['created_at'],
})
