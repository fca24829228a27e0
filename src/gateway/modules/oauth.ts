import { fail, Problem } from '#base/errors.ts'
import { Secret } from '#base/secrets.ts'
import { oauth, ownApplicationOnly } from '#contract/modules/oauth.ts'
import type { Stored } from '#contract/shape.ts'
import type { ModuleParts, SignInModule } from '#gateway/modules/module.ts'
import { agentConfig, recordConfig } from '#auth/sign-in/sign-in-config.ts'
import type { SignInConfig, SignInOffer } from '#auth/sign-in/sign-in.ts'
import { readModule } from '#base/read-module.ts'
import { type AccessLists, isOpen } from '#auth/providers/access.ts'
import { OAuthMethod } from '#auth/providers/method.ts'
import type { OAuthProvider, ProviderName } from '#auth/providers/provider.ts'
import { type Application, applicationSetting } from '#auth/providers/setup.ts'
import { providersOf } from '#auth/providers/table.ts'
import { list, object, text } from '#base/json-fields.ts'

const OPTION = 'OAuth'
const MAX_NAMES = 1000

type Options = Stored<typeof oauth.shape>

/** One provider's part of the module, from a record or an agent. */
interface OAuthClient {
  readonly provider: OAuthProvider
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  readonly access: AccessLists
}

const names = list(text(255), MAX_NAMES)
const agentOptions = object({
  provider: text(64),
  client_id: text(1024),
  client_secret: text(4096),
  sealed_client_secret: text(16_384),
  allow_emails: names,
  allow_domains: names,
  scopes: names,
})

/** Sign-in with one or more of eight providers, with the owner's applications or the operator's. */
export const oauthModule: SignInModule = {
  name: oauth.name,

  fromRecord(given, _, parts) {
    const options = given as unknown as Options
    const interval = options.auth_check_interval
    const config = recordConfig(options, interval)
    return fromOptions(options, parts).map(client =>
      offerOf(client, methodFor(client, parts, interval > 0), config),
    )
  },

  fromAgent: {
    option: OPTION,
    build: (given, parts) =>
      forAgent(() => {
        const client = fromBind(given[OPTION] ?? {}, parts)
        return offerOf(client, methodFor(client, parts, false), agentConfig)
      }),
  },
}

const offerOf = ({ provider }: OAuthClient, method: OAuthMethod, config: SignInConfig): SignInOffer => ({
  key: `${oauth.name}.${provider.name}`,
  title: provider.title,
  method,
  config,
})

function fromOptions({ provider: given }: Options, { oauth: setup }: ModuleParts): OAuthClient[] {
  const providers = providersOf(setup)
  const clients = (Object.keys(providers) as ProviderName[]).flatMap(name => {
    const options = given[name]
    if (!options) return []
    return {
      provider: providers[name],
      clientId: options.client_id,
      clientSecret: options.client_secret,
      scopes: options.scopes,
      access: {
        emails: options.email_addresses,
        domains: options.email_domains,
        teams: 'teams' in options ? options.teams : [],
        organizations: 'organizations' in options ? options.organizations : [],
      },
    }
  })
  if (clients.length === 0)
    fail('oauth_none', { field: 'provider', supported: Object.keys(providers).join(', ') })
  return clients
}

function fromBind(given: Parameters<typeof readModule>[2], { oauth: setup }: ModuleParts): OAuthClient {
  const options = readModule(OPTION, agentOptions, given)
  const providers: Readonly<Record<string, OAuthProvider>> = providersOf(setup)
  const provider = Object.hasOwn(providers, options.provider) ? providers[options.provider] : undefined
  if (provider === undefined)
    return refuse(`"${options.provider}" is not one of ${Object.keys(providers).join(', ')}`)
  // It is encrypted for a key that only the hosted service has.
  if (options.sealed_client_secret !== '') refuse('sealed_client_secret is not supported, use client_secret')
  if ((options.client_id === '') !== (options.client_secret === ''))
    refuse('client_id and client_secret belong together')
  if (options.client_id === '' && options.scopes.length > 0)
    refuse('scopes need a client_id and a client_secret')
  return {
    provider,
    clientId: options.client_id,
    clientSecret: options.client_secret,
    scopes: options.scopes,
    access: { emails: options.allow_emails, domains: options.allow_domains, teams: [], organizations: [] },
  }
}

const refuse = (reason: string): never => fail('bind_option', { option: OPTION, reason })

/** Agents get the bind error for what cannot be built. */
function forAgent<T>(build: () => T): T {
  try {
    return build()
  } catch (error) {
    if (!(error instanceof Problem) || error.code === 'bind_option') throw error
    return refuse(error.message.replace(/^T/, 't').replace(/\.$/, ''))
  }
}

function methodFor(client: OAuthClient, parts: ModuleParts, lasting: boolean): OAuthMethod {
  const { provider, clientId, clientSecret, scopes, access } = client
  const managed = clientId === ''
  const application = managed
    ? managedFor(provider, access, parts)
    : { id: clientId, secret: new Secret(clientSecret) }
  const { egress, log } = parts
  return new OAuthMethod({ provider, application, managed, scopes, access, lasting, egress, log })
}

function managedFor({ name, title }: OAuthProvider, access: AccessLists, parts: ModuleParts): Application {
  if (ownApplicationOnly.some(each => each === name)) fail('oauth_own_app', { field: name })
  const application =
    parts.oauth.applications.get(name) ??
    fail('oauth_application', { provider: title, setting: applicationSetting(name) })
  // The operator's application is not specific to the endpoint, so allowed users are required.
  if (isOpen(access)) fail('oauth_open', { provider: title })
  return application
}
