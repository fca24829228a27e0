import {
  CHALLENGES,
  ORDERS,
  challengeRemovals,
  moment,
  orderClaim,
  type ChallengeBody,
  type OrderBody,
} from '#acme/order-rows.ts'
import { newId } from '#base/ids.ts'
import { Secret, type Sealer } from '#base/secrets.ts'
import type { Store, Write } from '#store/store.ts'

/** Another process has taken over or finished the order: this one must stop. */
export class LostOrder extends Error {
  override readonly name = 'LostOrder'
}

export interface OrderLeaseOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly now: () => number
  /** Names this process. */
  readonly owner: string
  readonly leaseMs: number
}

/** Writes a batch; false when it is rejected. */
type CommitWrites = (writes: readonly Write[]) => Promise<boolean>

/**
 * An order that this process works on. Each write names the last seen version, so nothing is written once another
 * process has the order, whatever their clocks are; and each write renews the lease.
 */
export class HeldOrder {
  readonly id: string
  readonly #options: OrderLeaseOptions
  #body: OrderBody
  #version: number

  constructor(id: string, options: OrderLeaseOptions, body: OrderBody, version: number) {
    this.id = id
    this.#options = options
    this.#body = body
    this.#version = version
  }

  get body(): OrderBody {
    return this.#body
  }

  /** The stored key for the certificate, if there is one. */
  key(): Secret | undefined {
    const { key } = this.#body
    return key === null ? undefined : new Secret(this.#options.sealer.unseal(key, this.id))
  }

  sealed(key: Secret): string {
    return this.#options.sealer.seal(key.reveal(), this.id)
  }

  async save(
    changes: Partial<OrderBody>,
    commit: CommitWrites = writes => this.#commit(writes),
  ): Promise<void> {
    const lease = 'lease' in changes ? changes.lease : leaseOf(this.#options)
    const body = { ...this.#body, ...changes, lease: lease ?? null }
    if (!(await commit([orderWrite(this.id, body, this.#version + 1)]))) throw new LostOrder()
    this.#body = body
    this.#version++
  }

  /** Renews the lease when half of it is over. */
  async keep(): Promise<void> {
    const { now, leaseMs } = this.#options
    const left = Date.parse(this.#body.lease?.until ?? '') - now()
    if (!(left > leaseMs / 2)) await this.save({})
  }

  /** Releases it at once. */
  release(changes: Partial<OrderBody> = {}, commit?: CommitWrites): Promise<void> {
    return this.save({ ...changes, lease: null }, commit)
  }

  /** Publishes a challenge to its responders. One that was published before a restart stays. */
  async publish(challenge: ChallengeBody): Promise<boolean> {
    const { store, now } = this.#options
    const rows = await store.list(CHALLENGES, { parent: this.id, limit: 1000 })
    if (rows.some(({ body }) => isSame(JSON.parse(body) as ChallengeBody, challenge))) return false
    const id = newId('ac', now())
    const row = { id, kind: CHALLENGES, parent: this.id, version: 1, body: JSON.stringify(challenge) }
    const insert: Write = { op: 'insert', entry: { row, refs: [], claims: [] } }
    await this.save({}, writes => this.#commit([...writes, insert]))
    return true
  }

  /** The same with the writes that end all challenges. */
  async withoutChallenges(commit: CommitWrites = writes => this.#commit(writes)): Promise<CommitWrites> {
    const removals = await challengeRemovals(this.#options.store, this.id)
    return writes => commit([...removals, ...writes])
  }

  /** The writes that end the order. */
  async removal(): Promise<Write[]> {
    const removals = await challengeRemovals(this.#options.store, this.id)
    return [...removals, { op: 'remove', id: this.id, version: this.#version }]
  }

  async #commit(writes: readonly Write[]): Promise<boolean> {
    return (await this.#options.store.commit(writes)).ok
  }
}

const isSame = (one: ChallengeBody, other: ChallengeBody): boolean =>
  one.type === other.type && one.key_authorization === other.key_authorization && one.name === other.name

export const leaseOf = ({ owner, now, leaseMs }: OrderLeaseOptions): NonNullable<OrderBody['lease']> => ({
  owner,
  until: moment(now() + leaseMs),
})

export function orderWrite(id: string, body: OrderBody, version: number): Write {
  const row = { id, kind: ORDERS, parent: null, version, body: JSON.stringify(body) }
  const entry = { row, refs: [], claims: [orderClaim(body.domain)] }
  return { op: version === 1 ? 'insert' : 'update', entry }
}
