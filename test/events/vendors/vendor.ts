import type { ResourceBody } from '#contract/body.ts'
import type { Seen } from '../destinations/support.ts'

/** An event as a service receives it. */
export interface ReceivedEvent {
  readonly event_id: string
  readonly event_type: string
  readonly event_timestamp: string
  readonly account_id: string
  readonly principal?: unknown
  readonly object: ResourceBody
}

/** The error for a target that does not work. */
interface ExpectedError {
  readonly code: number
  readonly says: RegExp
}

/** A service that receives events, for one kind of target. */
export interface Vendor {
  readonly name: string
  /** With the right credentials. */
  readonly target: ResourceBody
  /** The same as the API shows it. */
  readonly shown: ResourceBody
  /** With wrong credentials; absent where there are none. */
  readonly wrong?: { readonly target: ResourceBody; readonly refusal: ExpectedError }
  /** What came with the right credentials. */
  readonly arrived: () => readonly ReceivedEvent[]
}

/** The resources of a test's services, which are closed together. */
export interface Stage {
  readonly stack: AsyncDisposableStack
  /** Those whose addresses are settings of the server and not in the target. */
  readonly endpoints: Map<string, string>
}

export const refused = (says: RegExp): ExpectedError => ({ code: 90222, says })
export const readEvent = (text: string): ReceivedEvent => JSON.parse(text) as ReceivedEvent
export const contentOf = ({ body }: Seen): unknown => JSON.parse(body.toString())
