import { kind } from '#contract/kind.ts'
import { line, moment, nullable, number, object } from '#contract/schema.ts'
import { computed, shownRef } from '#contract/shape.ts'

const verbs = ['get', 'list', 'delete'] as const

export const applicationUser = kind({
  name: 'application_user',
  doc: 'A user who signed in to an endpoint. Deleting one ends all of its sessions.',
  prefix: 'au',
  path: '/app/users',
  listKey: 'application_users',
  followedByGateway: true,
  verbs,
  fields: {
    identity_provider: computed(object({ name: line(), url: line() })),
    provider_user_id: computed(line()),
    username: computed(line()),
    email: computed(line()),
    name: computed(line()),
    last_active: computed(moment()),
    last_login: computed(moment()),
  },
})

const userAgent = object({
  raw: line(),
  browser_name: line(),
  browser_version: line(),
  device_type: line(),
  os_name: line(),
  os_version: line(),
})
const location = object({
  country_code: nullable(line()),
  latitude: nullable(number(-90, 90)),
  longitude: nullable(number(-180, 180)),
  lat_long_radius_km: nullable(number(0, 40_000)),
})

export const applicationSession = kind({
  name: 'application_session',
  doc: 'A browser session at an endpoint.',
  prefix: 'as',
  path: '/app/sessions',
  listKey: 'application_sessions',
  followedByGateway: true,
  belongsTo: { kinds: ['application_user'], field: 'application_user' },
  verbs,
  fields: {
    public_url: computed(line()),
    browser_session: computed(
      object({ user_agent: userAgent, ip_address: line(), location: nullable(location) }),
    ),
    application_user: shownRef(),
    last_active: computed(moment()),
    expires_at: computed(moment()),
    endpoint: shownRef(),
    edge: shownRef(),
    route: shownRef(),
  },
})
