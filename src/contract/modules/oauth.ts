import { module } from '#contract/kind.ts'
import { signInFields } from '#contract/modules/sign-in.ts'
import { line, listOf, uint32 } from '#contract/schema.ts'
import { input, maybe, nested, secret } from '#contract/shape.ts'

const names = (doc: string) =>
  input(listOf(line({ maxBytes: 255 }), { refusals: { maxItems: 'list_too_long' } }), doc)

const provider = {
  client_id: input(line({ maxBytes: 1024 }), 'Your own application; the managed one when empty.'),
  client_secret: secret(input(line({ maxBytes: 4096 })), 'returned'),
  scopes: names('Scopes to ask for; only with an application of your own.'),
  email_addresses: names('Users that may enter.'),
  email_domains: names('Domains whose users may enter.'),
}

const github = {
  ...provider,
  teams: names('Teams whose members may enter, as org/team.'),
  organizations: names('Organisations whose members may enter.'),
}

/** Providers for which there is no managed application. */
export const ownApplicationOnly = ['amazon', 'facebook'] as const

export const oauthProviders = {
  github: maybe(github),
  facebook: maybe(provider),
  microsoft: maybe(provider),
  google: maybe(provider),
  linkedin: maybe(provider),
  gitlab: maybe(provider),
  twitch: maybe(provider),
  amazon: maybe(provider),
}

export const oauth = module({
  name: 'oauth',
  doc: 'Asks visitors to sign in at one of eight identity providers.',
  fields: {
    ...signInFields('adit.'),
    provider: nested(oauthProviders, 'Which identity provider, and who may enter.'),
    auth_check_interval: input(
      uint32(0),
      'Seconds after which a user is checked again at the provider: 0 for never, else at least 180.',
    ),
  },
})
