import type { Egress } from '#base/egress.ts'
import type { Log } from '#base/log.ts'
import type { Handler } from '#gateway/exchange.ts'
import type { Facts } from '#gateway/facts.ts'
import type { Guest } from '#gateway/listeners/visitor.ts'
import type { Records } from '#gateway/records/records.ts'
import type { OAuthSetup } from '#gateway/sign-in/providers/setup.ts'
import type { SignIn } from '#gateway/sign-in/sign-in.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import type { JsonObject } from '#tunnel/fields.ts'
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

/** Where a module stands. */
export interface Place {
  /** Of the route, endpoint configuration or tunnel that has the module; what a module remembers belongs to it. */
  readonly id: string
  /** Of the edge, where it is one. */
  readonly edgeId?: string
  /** What the route asks of paths, where it is one. */
  readonly match?: string
  /** Of the record that has the module; an endpoint configuration stands before any number of tunnels. */
  readonly recordId?: string
  /** What the agent of the tunnel asked for, where the place is a tunnel. */
  readonly agent?: BindOptions
  /** Connects to the backend without HTTP; `first` leaves with it. Absent where the backend knows only HTTP. */
  readonly dial?: (visitor: Guest, first: Buffer) => Promise<ByteStream>
}

/** What budgets are divided by: routes of one edge are one endpoint. */
export const endpointOf = ({ id, edgeId }: Place): string => edgeId ?? id

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
