import type { ModuleRule } from '#api/modules/rule.ts'
import { fail } from '#base/errors.ts'
import { nameFault } from '#base/name-fault.ts'
import { oauthProviders, ownApplicationOnly, type oauth } from '#contract/modules/oauth.ts'
import type { Stored } from '#contract/shape.ts'

const MIN_CHECK_INTERVAL = 180
const EMAIL = /^[^\s@]+@([^\s@]+)$/

type Module = Stored<typeof oauth.shape>
type Provider = NonNullable<Module['provider']['github']>

export const checkOAuth: ModuleRule = module => {
  const { provider, auth_check_interval: interval } = module as Module
  const given = Object.entries(provider).filter(([, settings]) => settings !== null)
  const supported = Object.keys(oauthProviders).join(', ')
  if (given.length === 0) fail('oauth_none', { field: 'provider', supported })
  if (interval > 0 && interval < MIN_CHECK_INTERVAL) {
    fail('oauth_check_interval', { field: 'auth_check_interval' })
  }
  for (const [name, settings] of given) checkProvider(name, settings as Provider)
}

function checkProvider(name: string, settings: Provider): void {
  const field = `provider.${name}`
  const { client_id: id, client_secret: secret } = settings
  if ((id === '') !== (secret === '')) fail('oauth_client', { field })
  if (id === '' && settings.scopes.length > 0) fail('oauth_scopes', { field })
  if (id === '' && ownApplicationOnly.some(each => each === name)) fail('oauth_own_app', { field })
  for (const [list, check] of Object.entries(listChecks)) {
    checkList(`${field}.${list}`, settings[list as keyof typeof listChecks] ?? [], check)
  }
}

const listChecks = {
  scopes: () => undefined,
  email_addresses: checkAddress,
  email_domains: checkDomain,
  teams: checkTeam,
  organizations: () => undefined,
}

function checkList(
  field: string,
  items: readonly string[],
  check: (field: string, value: string) => void,
): void {
  const seen = new Set<string>()
  for (const value of items) {
    if (value.trim() === '') fail('list_empty_item', { field })
    if (seen.has(value)) fail('list_twice', { field, value })
    seen.add(value)
    check(field, value)
  }
}

function checkAddress(field: string, value: string): void {
  const domain = EMAIL.exec(value)?.[1]
  if (domain === undefined || nameFault(domain.toLowerCase())) fail('email_address', { field, value })
  if (value !== value.toLowerCase()) fail('email_lower', { field, value })
}

function checkDomain(field: string, value: string): void {
  if (nameFault(value.toLowerCase()) || value.includes('*')) fail('email_domain', { field, value })
  if (value !== value.toLowerCase()) fail('domain_lower', { field, value })
}

function checkTeam(field: string, value: string): void {
  if (!/^(\d+|[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+)$/.test(value)) fail('team_format', { field, value })
}
