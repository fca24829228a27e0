import type { Handler } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'
import type { Identity } from '#http/identity.ts'
import type { Place } from '#http/place.ts'
import type { Seal } from '#auth/sign-in/seal.ts'

/** What a sign-in brought, kept sealed with the session where it is needed to look again. */
export interface Granted {
  readonly identity: Identity
  readonly accessToken?: string
  readonly refreshToken?: string
  /** When the provider ends its own session, in milliseconds; ours ends with it. */
  readonly until?: number
}

/** What is remembered from the beginning of a sign-in to its end, sealed in the visitor's browser. */
export type Memory = Readonly<Record<string, string>>

/** One way to sign in, configured for one place. */
export interface SignInMethod {
  /** Shown in /app/users. */
  readonly provider: { readonly name: string; readonly url: string }
  /** Changes whenever sessions made under another configuration must be checked again. */
  readonly fingerprint: string
  /** What the provider knows us by; undefined where there is no such name. */
  readonly clientId?: string
  /** The service behind is given the tokens: only those of an application that its owner registered. */
  readonly passesTokens?: boolean
  /**
   * The provider may begin by itself: `finish` is then called with an empty memory for a sealed state without a flow,
   * and must see to it that no answer counts twice.
   */
  readonly takesUnasked?: boolean
  /**
   * Where the browser is sent. `state` comes back with the answer; `callback` is the one address that the provider
   * knows. `again`: the user is to be asked for credentials anew.
   */
  begin(ask: {
    readonly state: string
    readonly callback: string
    readonly again: boolean
  }): Promise<{ readonly url: string; readonly memory: Memory }>
  /** What came back, checked; throws a Problem that says why somebody may not enter. */
  finish(answer: {
    readonly parameters: URLSearchParams
    readonly memory: Memory
    readonly callback: string
  }): Promise<Granted>
  /**
   * Looks again who the user is. A Problem ends the session; one with a status from 500 on, or any other error, means
   * that the provider could not be asked. Absent: it never can.
   */
  check?(granted: Granted): Promise<Granted>
}

/** What every way to sign in lets its owner set. */
export interface SignInTerms {
  readonly optionsPassthrough: boolean
  readonly cookiePrefix: string
  /** Seconds; 0 for never. */
  readonly inactivityTimeout: number
  readonly maximumDuration: number
  readonly authCheckInterval: number
}

/** The id of the place that requires sign-in at a host now; undefined where none does. */
export type PlaceAt = (scheme: 'http' | 'https', host: string) => string | undefined

/** Signing in, the same for every method: state, cookies, sessions, log-in and log-out paths, identity headers. */
export interface SignIn {
  /** For what a method has to hand from the central host to its endpoints. */
  readonly seal: Seal
  /** Lets a request through that belongs to a session; all others are sent to sign in. */
  handler(method: SignInMethod, terms: SignInTerms, place: Place): Handler
  /** Answers requests for the host of the central callback address; undefined when `head` is not for it. */
  central(head: RequestHead): Handler | undefined
}
