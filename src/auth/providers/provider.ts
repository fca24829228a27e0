import type { oauthProviders } from '#contract/modules/oauth.ts'
import type { ProviderApi } from '#auth/providers/api.ts'

/** Where the servers of a provider are. */
export interface Addresses {
  readonly authorize: string
  readonly token: string
  /** What the paths of all look-ups begin with. */
  readonly api: string
}

/** What is wanted of a look at a user. */
export interface Wanted {
  /** The scopes that were asked for. */
  readonly scopes: readonly string[]
  /** In lower case; only GitHub knows such. */
  readonly teams: ReadonlySet<string>
  readonly organizations: ReadonlySet<string>
}

/** What a provider tells of the user whose token it was asked with. */
export interface Found {
  /** What the provider knows the user by, for ever. */
  readonly id: string
  readonly username: string
  readonly name: string
  /** Empty where the provider tells none. */
  readonly email: string
  /** False when the provider does not say that the address is the user's own: it is worth nothing then. */
  readonly vouched: boolean
  /** True when the user is in a wanted team or organisation. */
  readonly member?: boolean
  readonly headers?: Readonly<Record<string, string>>
  /** Where the look tells what the user has granted. */
  readonly granted?: readonly string[]
}

export type ProviderName = keyof typeof oauthProviders

/** What scopes depend on. */
export interface Use {
  /** Teams or organisations are looked at. */
  readonly memberships: boolean
  /** Users are looked at again, for longer than an access token lives. */
  readonly lasting: boolean
}

/** One identity provider: what it is asked for, where, and how its answers are read. */
export interface Provider {
  readonly name: ProviderName
  /** As people write it. */
  readonly title: string
  readonly url: string
  readonly addresses: Addresses
  /** What must be asked for, beside what the owner asks for. */
  readonly scopes: (owners: readonly string[], use: Use) => readonly string[]
  /** The scope without which no e-mail address is told. */
  readonly emailScope?: string
  /** One spelling for scopes that have several. */
  readonly normal?: (scope: string) => string
  /** What a granted scope stands for beside itself. */
  readonly implied?: (scope: string) => readonly string[]
  /** Scopes that are granted without being told so. */
  readonly untold?: ReadonlySet<string>
  /** Further parameters of the address that browsers are sent to. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Those that make the provider ask for credentials, or at least for the account, again. */
  readonly again?: Readonly<Record<string, string>>
  /** What `iss` in the answer must be, where there is one (RFC 9207). */
  readonly issuer?: string
  /** True where PKCE makes the provider refuse the client. */
  readonly withoutProof?: boolean
  readonly look: (api: ProviderApi, wanted: Wanted) => Promise<Found>
}
