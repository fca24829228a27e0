import { module } from '#contract/kind.ts'
import { flag, line, oneOf } from '#contract/schema.ts'
import { also } from '#contract/schema.ts'
import { input } from '#contract/shape.ts'

export const basicAuth = module({
  name: 'basic_auth',
  doc: 'Requires the user name and password that the agent was started with.',
  fields: {
    auth_provider_id: input(also(oneOf('agent'), { default: 'agent' }), 'Who has the passwords.'),
    realm: input(line({ maxBytes: 255, default: 'adit' }), 'Realm shown to the client.'),
    allow_options: input(flag(false), 'Allow OPTIONS requests without a password.'),
  },
})
