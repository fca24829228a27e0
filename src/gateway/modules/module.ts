import type { Egress } from '#base/egress.ts'
import type { Log } from '#base/log.ts'
import type { Handler } from '#http/exchange.ts'
import type { Facts } from '#registry/facts.ts'
import type { Place } from '#http/place.ts'
import type { Records } from '#registry/records/records.ts'
import type { OAuthSetup } from '#auth/providers/setup.ts'
import type { SignIn } from '#auth/sign-in/sign-in.ts'
import type { JsonObject } from '#base/json-fields.ts'
import type { BindOptions } from '#tunnel/messages.ts'

/** What modules may use of the gateway. */
export interface ModuleParts {
  readonly facts: Facts
  readonly records: Records
  /** The one way out: calls to others than agents. */
  readonly egress: Egress
  readonly signIn: SignIn
  /** What the operator has set for the OAuth providers. */
  readonly oauth: OAuthSetup
  readonly log: Log
}

/** A module that acts on requests, as records and as agents configure it. */
export interface HttpModule {
  /** As in `src/contract/modules`. */
  readonly name: string
  /** Where the module is called otherwise in endpoint configurations. */
  readonly alias?: string
  /** What it remembers of traffic outlives other changes of its place: its handler is used again. */
  readonly remembers?: true
  /** What a record says is added to what the agent asked for (`Place.agent`), instead of a second handler. */
  readonly joinsAgent?: true
  /** Throws a Problem when it cannot be built: its route then answers 503. */
  fromRecord(options: JsonObject, place: Place, parts: ModuleParts): Handler
  /** Absent where agents cannot ask for it. */
  readonly fromAgent?: {
    readonly options: readonly (keyof BindOptions)[]
    /** Throws a Problem (`bind_option`) for options that cannot be used. */
    build(given: BindOptions, place: Place, parts: ModuleParts): Handler
  }
}
