import type { Egress } from '#base/egress.ts'
import type { Log } from '#base/log.ts'
import type { Handler } from '#http/exchange.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { ModuleContext } from '#http/module-context.ts'
import type { ModuleState } from '#gateway/modules/module-state.ts'
import type { Records } from '#registry/records/records.ts'
import type { OAuthSetup } from '#auth/providers/setup.ts'
import type { SignIn, SignInOffer } from '#auth/sign-in/sign-in.ts'
import type { JsonObject } from '#base/json-fields.ts'
import type { BindOptions } from '#tunnel/messages.ts'

/** What modules may use of the gateway. */
export interface ModuleParts {
  readonly info: GatewayInfo
  readonly records: Records
  /** The only client for outgoing connections, except to agents. */
  readonly egress: Egress
  readonly signIn: SignIn
  /** The operator's OAuth applications. */
  readonly oauth: OAuthSetup
  readonly state: ModuleState
  readonly log: Log
}

/** A module that requires sign-in. Those of one record, or of one agent, are alternatives and share a handler. */
export interface SignInModule {
  /** As in `src/contract/modules`. */
  readonly name: string
  /** Throws a Problem when it cannot be built. */
  fromRecord(options: JsonObject, moduleContext: ModuleContext, parts: ModuleParts): readonly SignInOffer[]
  /** Absent if agents cannot request it. */
  readonly fromAgent?: {
    readonly option: keyof BindOptions
    /** Throws a Problem (`bind_option`) for options that cannot be used. */
    build(given: BindOptions, parts: ModuleParts): SignInOffer
  }
}

/** A request module, as configured by records and agents. */
export interface HttpModule {
  /** As in `src/contract/modules`. */
  readonly name: string
  /** Its name in endpoint configurations, if it differs. */
  readonly alias?: string
  /** Its state survives other changes of its endpoint: the handler is reused. */
  readonly remembers?: true
  /** A record's options are added to those of the agent (`ModuleContext.agent`), instead of a second handler. */
  readonly joinsAgent?: true
  /** Throws a Problem when it cannot be built: its route then responds with 503. */
  fromRecord(options: JsonObject, moduleContext: ModuleContext, parts: ModuleParts): Handler
  /** Absent if agents cannot request it. */
  readonly fromAgent?: {
    readonly options: readonly (keyof BindOptions)[]
    /** Throws a Problem (`bind_option`) for options that cannot be used. */
    build(given: BindOptions, moduleContext: ModuleContext, parts: ModuleParts): Handler
  }
}
