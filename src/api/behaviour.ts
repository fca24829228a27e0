import type { Call } from '#api/call.ts'
import type { Draft } from '#api/draft.ts'
import type { Body } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Row } from '#store/store.ts'

/** A kept resource, opened. */
export interface Record {
  readonly row: Row
  readonly body: Body
}

/** Makes what a caller sees of a resource that is part of another. */
type Show = (kind: Kind, body: Body, call: Call) => Promise<Body>

/** What one kind does beyond being kept and shown. */
export interface Behaviour {
  /** Completes a new or changed resource and refuses what its schema cannot express. */
  prepare?(draft: Draft, call: Call): Promise<void> | void
  /** Rejects a removal that must not happen. Returns the rows on whose state that relied. */
  remove?(record: Record, call: Call): Promise<readonly Row[] | void> | void
  /** Fields that are worked out when it is read. */
  view?(body: Body, call: Call, show: Show): Promise<Body>
  /** What each action makes of the resource. */
  readonly actions?: Readonly<{ [name: string]: (record: Record) => Body }>
  /** Actions that change nothing that is kept. */
  readonly orders?: Readonly<{ [name: string]: (record: Record, call: Call) => Promise<void> }>
}
