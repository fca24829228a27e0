/** The verified claims of the provider about a user. */
export interface OpenIdUser {
  readonly identity: { readonly email: string; readonly name: string }
  readonly groups?: readonly string[]
}

/** What the provider's response is checked with. */
export type FlowMemory = Readonly<Record<string, string>>

/** The operator's OpenID provider: authorization code flow with PKCE and nonce. */
interface OpenIdProvider {
  begin(ask: {
    readonly state: string
    readonly callback: string
    readonly forceReauth: boolean
  }): Promise<{ readonly url: string; readonly memory: FlowMemory }>
  /** Rejects with a Problem when the response is not valid, or the user not allowed. */
  finish(answer: {
    readonly parameters: URLSearchParams
    readonly memory: FlowMemory
    readonly callback: string
  }): Promise<OpenIdUser>
}

export type Roles = ReadonlyMap<string, 'admin' | 'member'>

export interface OpenIdOptions {
  readonly provider: OpenIdProvider
  /** The role of each group; undefined: new users are members, and roles are set here. */
  readonly roles: Roles | undefined
}
