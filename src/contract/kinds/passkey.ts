import { kind } from '#contract/kind.ts'
import { line, moment } from '#contract/schema.ts'
import { computed, internal } from '#contract/shape.ts'

/** Adit's own: a key of a device with which a user signs in to the dashboard (WebAuthn). */
export const passkey = kind({
  name: 'passkey',
  doc: 'A passkey with which a user signs in to the dashboard. Users add their own in the menu with their name; deleting it ends its use.',
  prefix: 'pk',
  path: '/passkeys',
  listKey: 'passkeys',
  owned: true,
  belongsTo: { kinds: ['user'], field: 'owner_id' },
  verbs: ['get', 'list', 'delete'],
  fields: {
    owner_id: computed(line(), 'The user whom it signs in.'),
    name: computed(line(), 'The name that the user gave it.'),
    host: computed(line(), 'The host at which it can be used.'),
    last_used: computed(moment(), 'The latest sign-in; before the first, when it was added.'),
    credential_id: internal(),
    public_key: internal(),
    sign_count: internal(),
  },
})
