import { kind } from '#contract/kind.ts'
import { anything, line, moment, nullable, object, refSchema } from '#contract/schema.ts'
import { computed } from '#contract/shape.ts'

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
          source: line(),
          credential: nullable(refSchema),
          ip: nullable(line()),
        }),
      ),
      'Who did it: a user or bot, with which API key, and from where; ip is null for what the server did by itself.',
    ),
    object: computed(anything(), 'The resource as it was then.'),
    occurred_at: computed(moment()),
  },
  without: ['created_at'],
})
