import { fail, Problem } from '#base/errors.ts'
import { Secret } from '#base/secrets.ts'
import { oidc } from '#contract/modules/oidc.ts'
import type { Stored } from '#contract/shape.ts'
import type { ModuleParts, SignInModule } from '#gateway/modules/module.ts'
import { readModule } from '#base/read-module.ts'
import { OidcMethod, type OidcMethodOptions } from '#auth/oidc/oidc.ts'
import { agentConfig, recordConfig } from '#auth/sign-in/sign-in-config.ts'
import type { SignInConfig, SignInOffer } from '#auth/sign-in/sign-in.ts'
import { type JsonObject, list, object, text } from '#base/json-fields.ts'

const OPTION = 'OIDC'
const MAX_NAMES = 1000

type Options = Stored<typeof oidc.shape>

const names = list(text(255), MAX_NAMES)
const agentOptions = object({
  issuer_url: text(255),
  client_id: text(1024),
  client_secret: text(4096),
  sealed_client_secret: text(16_384),
  allow_emails: names,
  allow_domains: names,
  scopes: list(text(255), 100),
})

/** Sign-in with an OpenID provider of the owner's choice. */
export const oidcModule: SignInModule = {
  name: oidc.name,

  fromRecord(given, _, parts) {
    const options = given as unknown as Options
    const method = new OidcMethod({
      issuer: options.issuer,
      clientId: options.client_id,
      clientSecret: new Secret(options.client_secret),
      scopes: options.scopes,
      emails: [],
      domains: [],
      ...ways(parts),
    })
    return [offerOf(method, recordConfig(options))]
  },

  fromAgent: {
    option: OPTION,
    build: (given, parts) => offerOf(methodForAgent(given[OPTION] ?? {}, parts), agentConfig),
  },
}

const offerOf = (method: OidcMethod, config: SignInConfig): SignInOffer => ({
  key: oidc.name,
  title: new URL(method.provider.url).host,
  method,
  config,
})

const ways = ({ egress, log }: ModuleParts): Pick<OidcMethodOptions, 'egress' | 'log'> => ({ egress, log })

function methodForAgent(given: JsonObject, parts: ModuleParts): OidcMethod {
  const options = readModule(OPTION, agentOptions, given)
  // It is encrypted for a key that only the hosted service has.
  if (options.sealed_client_secret !== '') refuse('sealed_client_secret is not supported, use client_secret')
  if (options.client_id === '') refuse('it names no client_id')
  try {
    return new OidcMethod({
      issuer: options.issuer_url,
      clientId: options.client_id,
      clientSecret: options.client_secret === '' ? undefined : new Secret(options.client_secret),
      scopes: options.scopes,
      emails: options.allow_emails,
      domains: options.allow_domains,
      ...ways(parts),
    })
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return refuse(String(error.values['reason']))
  }
}

const refuse = (reason: string): never => fail('bind_option', { option: OPTION, reason })
