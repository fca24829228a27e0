import type { Handler } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'
import type { UserIdentity } from '#http/identity.ts'
import type { ModuleContext } from '#http/module-context.ts'
import type { Seal } from '#auth/sign-in/seal.ts'

/** The result of a sign-in, sealed in the session if it is needed for rechecks. */
export interface AuthResult {
  readonly identity: UserIdentity
  readonly accessToken?: string
  readonly refreshToken?: string
  /** Only if the method requests them. */
  readonly groups?: readonly string[]
  /** When the provider's session ends, in milliseconds; ours ends with it. */
  readonly until?: number
}

/** The state from the start of a sign-in to its end, sealed in the client's browser. */
export type FlowState = Readonly<Record<string, string>>

/** A sign-in method, configured for one realm. Several in a realm are alternatives. */
export interface SignInMethod {
  /** Shown in /app/users. */
  readonly provider: { readonly name: string; readonly url: string }
  /** Changes whenever sessions of another configuration must be checked again. */
  readonly fingerprint: string
  /** Our client id at the provider; undefined if there is none. */
  readonly clientId?: string
  /** The service gets the tokens: only those of its owner's own application. */
  readonly passesTokens?: boolean
  /**
   * The provider may start sign-ins: `finish` is then called with an empty memory for a sealed state without a flow,
   * and must make sure that no response counts twice.
   */
  readonly allowsIdpInitiated?: boolean
  /**
   * The redirect URL. `state` returns with the response; `callback` is our only redirect URL at the provider. `forceReauth`:
   * the user must enter credentials again.
   */
  begin(ask: {
    readonly state: string
    readonly callback: string
    readonly forceReauth: boolean
    /** The user wants another account: where the provider can, it lets the user choose one. */
    readonly chooseAccount?: boolean
  }): Promise<{ readonly url: string; readonly memory: FlowState }>
  /** Verifies the response; throws a Problem with the reason when the user is not allowed. */
  finish(answer: {
    readonly parameters: URLSearchParams
    readonly memory: FlowState
    readonly callback: string
  }): Promise<AuthResult>
  /**
   * Rechecks the user. A Problem ends the session; one with a status from 500 on, or any other error, means that the
   * provider could not be reached. Absent: not possible.
   */
  check?(authResult: AuthResult): Promise<AuthResult>
}

/** Common options of all sign-in methods. */
export interface SignInConfig {
  readonly optionsPassthrough: boolean
  readonly cookiePrefix: string
  /** Seconds; 0 for never. */
  readonly inactivityTimeout: number
  readonly maximumDuration: number
  readonly authCheckInterval: number
}

/** An alternative for signing in to a realm. */
export interface SignInOffer {
  /** Unique in its realm. Sessions and started sign-ins belong to one offer. */
  readonly key: string
  /** The provider's name for users. */
  readonly title: string
  readonly method: SignInMethod
  readonly config: SignInConfig
}

/**
 * A realm is what clients sign in to, with sessions of its own: a route, an endpoint configuration or a tunnel. These
 * are the ids of those that a host has now: several only if they are routes of an edge.
 */
export type RealmsAt = (scheme: 'http' | 'https', host: string) => readonly string[]

/** Sign-in for every method: state, cookies, sessions, log-in and log-out paths, identity headers. */
export interface SignIn {
  /** For data that a method passes from the central host to its endpoints. */
  readonly seal: Seal
  /** Allows requests with a session; all others must sign in, in one of the offered ways. */
  handler(offers: readonly SignInOffer[], moduleContext: ModuleContext): Handler
  /** Handles requests for the central callback host; undefined when `head` is for another one. */
  callbackHandler(head: RequestHead): Handler | undefined
}
