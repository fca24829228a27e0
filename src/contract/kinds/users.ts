import { kind } from '#contract/kind.ts'
import { also, flag, line, oneOf } from '#contract/schema.ts'
import { immutable, input, required } from '#contract/shape.ts'

const name = input(line({ maxBytes: 255 }), 'Name shown to people.')
const active = input(flag(true), 'False: its keys and credentials are rejected.')

/** Adit's own: the hosted service manages users outside of its API. */
export const user = kind({
  name: 'user',
  doc: 'A person. Admins may do everything; members everything except managing users, restrictions and resources of others.',
  prefix: 'usr',
  path: '/users',
  listKey: 'users',
  followedByGateway: true,
  adminOnly: true,
  fields: {
    name,
    email: required(immutable(input(line({ maxBytes: 254, format: 'email' }), 'E-mail address, unique.'))),
    role: input(also(oneOf('admin', 'member'), { default: 'member' }), 'What the user may do.'),
    active,
  },
})

export const botUser = kind({
  name: 'bot_user',
  doc: 'An account for a program: it owns keys and credentials and has the permissions of a member.',
  prefix: 'bot',
  path: '/bot_users',
  listKey: 'bot_users',
  followedByGateway: true,
  adminOnly: true,
  fields: { name, active },
})

export const serviceUser = kind({
  name: 'service_user',
  doc: 'The newer name of a bot user.',
  prefix: 'service',
  path: '/service_users',
  listKey: 'service_users',
  followedByGateway: true,
  adminOnly: true,
  fields: { name, active },
})
