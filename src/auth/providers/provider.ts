import type { oauthProviders } from '#contract/modules/oauth.ts'
import type { ProviderApi } from '#auth/providers/api.ts'

/** Where the servers of a provider are. */
export interface ProviderUrls {
  readonly authorize: string
  readonly token: string
  /** The common path prefix of all look-ups. */
  readonly api: string
}

/** Parameters of a user look-up. */
export interface UserLookup {
  /** The requested scopes. */
  readonly scopes: readonly string[]
  /** In lower case; only GitHub has them. */
  readonly teams: ReadonlySet<string>
  readonly organizations: ReadonlySet<string>
}

/** A provider's user data. */
export interface ProviderUser {
  /** The permanent id of the user at the provider. */
  readonly id: string
  readonly username: string
  readonly name: string
  /** Empty if the provider sends none. */
  readonly email: string
  /** False when the provider does not confirm that the address is the user's own: it is worthless then. */
  readonly vouched: boolean
  /** True when the user is in an allowed team or organisation. */
  readonly member?: boolean
  readonly headers?: Readonly<Record<string, string>>
  /** The granted scopes, if the look-up returns them. */
  readonly granted?: readonly string[]
}

export type ProviderName = keyof typeof oauthProviders

/** What the required scopes depend on. */
interface ScopeUse {
  /** Teams or organisations are checked. */
  readonly memberships: boolean
  /** Users are rechecked, for longer than an access token lives. */
  readonly lasting: boolean
}

/** One identity provider: its requests, URLs and responses. */
export interface OAuthProvider {
  readonly name: ProviderName
  /** As people write it. */
  readonly title: string
  readonly url: string
  readonly addresses: ProviderUrls
  /** Required scopes, in addition to the owner's. */
  readonly scopes: (owners: readonly string[], use: ScopeUse) => readonly string[]
  /** The scope that is needed for e-mail addresses. */
  readonly emailScope?: string
  /** The canonical form of scopes that have several. */
  readonly normal?: (scope: string) => string
  /** Further scopes that a granted one includes. */
  readonly implied?: (scope: string) => readonly string[]
  /** Scopes that are granted without being listed. */
  readonly unlisted?: ReadonlySet<string>
  /** Further parameters of the authorization URL. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Parameters that make the provider ask for credentials, or at least for the account, again. */
  readonly forceReauth?: Readonly<Record<string, string>>
  /** Parameters that make it let the user choose an account, if they differ. */
  readonly chooseAccount?: Readonly<Record<string, string>>
  /** The expected `iss` of the response, if there is one (RFC 9207). */
  readonly issuer?: string
  /** True if PKCE makes the provider reject the client. */
  readonly withoutProof?: boolean
  readonly lookUp: (api: ProviderApi, lookup: UserLookup) => Promise<ProviderUser>
}
