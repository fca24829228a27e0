import { kind } from '#contract/kind.ts'
import { line, moment, oneOf } from '#contract/schema.ts'
import { computed, internal, shownRef } from '#contract/shape.ts'

/** Adit's own: a browser that is signed in to the dashboard. */
export const dashboardSession = kind({
  name: 'dashboard_session',
  doc: 'A browser that is signed in to the dashboard. Deleting it signs the browser out.',
  prefix: 'ds',
  path: '/dashboard_sessions',
  listKey: 'dashboard_sessions',
  owned: true,
  belongsTo: { kinds: ['user'], field: 'owner_id' },
  verbs: ['get', 'list', 'delete'],
  fields: {
    owner_id: computed(line(), 'The user who signed in.'),
    method: computed(oneOf('link', 'password', 'openid', 'passkey'), 'How the user signed in.'),
    api_key: shownRef('The API key that made the sign-in link. The session ends when this key is deleted.'),
    ip: computed(line(), 'Where the user signed in from.'),
    user_agent: computed(line(), 'The browser, as it names itself.'),
    last_active: computed(moment(), 'The latest request, to the minute.'),
    expires_at: computed(moment(), 'The latest time at which it ends; without requests it ends earlier.'),
    token_hash: internal(),
  },
})
