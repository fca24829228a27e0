import type { Call } from '#api/call.ts'
import type { Draft } from '#api/draft.ts'
import type { Body } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Row } from '#store/store.ts'

/** A stored resource, decrypted. */
export interface Record {
  readonly row: Row
  readonly body: Body
}

/** Builds the view of a resource that is part of another. */
type Show = (kind: Kind, body: Body, call: Call) => Promise<Body>

/** What one kind does beyond storing and returning fields. */
export interface Behaviour {
  /** Completes a new or changed resource and rejects what its schema cannot express. */
  prepare?(draft: Draft, call: Call): Promise<void> | void
  /** Rejects a forbidden deletion. Returns the rows that the decision relied on. */
  remove?(record: Record, call: Call): Promise<readonly Row[] | void> | void
  /** Fields that are computed on read. */
  view?(body: Body, call: Call, show: Show): Promise<Body>
  /** The effect of each action on the resource. */
  readonly actions?: Readonly<{ [name: string]: (record: Record) => Body }>
  /** Actions that change nothing stored. */
  readonly orders?: Readonly<{ [name: string]: (record: Record, call: Call) => Promise<void> }>
}
