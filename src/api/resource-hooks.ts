import type { Arguments } from '#api/arguments.ts'
import type { Call } from '#api/call.ts'
import type { Draft } from '#api/draft.ts'
import type { ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Row } from '#store/store.ts'

/** A stored resource, decrypted. */
export interface StoredResource {
  readonly row: Row
  readonly body: ResourceBody
}

/** Builds the view of a resource that is part of another. */
type Show = (kind: Kind, body: ResourceBody, call: Call) => Promise<ResourceBody>

/** What one kind does beyond storing and returning fields. */
export interface ResourceHooks {
  /** Completes a new or changed resource and rejects what its schema cannot express. */
  prepare?(draft: Draft, call: Call): Promise<void> | void
  /** Rejects a forbidden deletion. Returns the rows that the decision relied on. */
  remove?(record: StoredResource, call: Call): Promise<readonly Row[] | void> | void
  /** Fields that are computed on read. */
  view?(body: ResourceBody, call: Call, show: Show): Promise<ResourceBody>
  /** The effect of each action on the resource. */
  readonly mutations?: Readonly<{ [name: string]: (record: StoredResource) => ResourceBody }>
  /** Actions that change nothing stored, for callers that may change the resource. */
  readonly commands?: Readonly<{
    [name: string]: (record: StoredResource, call: Call) => Promise<ResourceBody | void>
  }>
  /** Actions on the collection. `given` is the body of the request. */
  readonly collectionQueries?: Readonly<{
    [name: string]: (given: ResourceBody, call: Call) => Promise<ResourceBody>
  }>
  /** Actions that only answer, for callers that may read the resource. `given` is the body of the request. */
  readonly queries?: Readonly<{
    [name: string]: (record: StoredResource, given: ResourceBody, call: Call) => Promise<ResourceBody>
  }>
  /** Actions on a live resource that respond with a body. */
  readonly liveQueries?: Readonly<{
    [name: string]: (given: Pick<Arguments, 'id' | 'body'>, call: Call) => Promise<ResourceBody>
  }>
}
