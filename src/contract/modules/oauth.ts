import { module } from '#contract/kind.ts'
import { signInFields } from '#contract/modules/sign-in.ts'
import { line, listOf, uint32 } from '#contract/schema.ts'
import { input, secret } from '#contract/shape.ts'
import { nullableObject, nested } from '#contract/shape-schema.ts'

const names = (doc: string) =>
  input(listOf(line({ maxBytes: 255 }), { refusals: { maxItems: 'list_too_long' } }), doc)

const provider = {
  client_id: input(line({ maxBytes: 1024 }), 'Your own application; empty uses the managed one.'),
  client_secret: secret(input(line({ maxBytes: 4096 })), 'returned'),
  scopes: names('Scopes to request; only with your own application.'),
  email_addresses: names('Allowed users, by e-mail address.'),
  email_domains: names('Domains whose users are allowed.'),
}

const github = {
  ...provider,
  teams: names('Teams whose members are allowed, as org/team.'),
  organizations: names('Organisations whose members are allowed.'),
}

/** Providers for which there is no managed application. */
export const ownApplicationOnly = ['amazon', 'facebook'] as const

export const oauthProviders = {
  github: nullableObject(github),
  facebook: nullableObject(provider),
  microsoft: nullableObject(provider),
  google: nullableObject(provider),
  linkedin: nullableObject(provider),
  gitlab: nullableObject(provider),
  twitch: nullableObject(provider),
  amazon: nullableObject(provider),
}

export const oauth = module({
  name: 'oauth',
  doc: 'Requires sign-in with one of eight identity providers, or with one of several that users choose from.',
  fields: {
    ...signInFields('adit.'),
    provider: nested(oauthProviders, 'The identity providers, and the allowed users of each.'),
    auth_check_interval: input(
      uint32(0),
      'Seconds after which a user is checked again at the provider: 0 for never, else at least 180.',
    ),
  },
})
