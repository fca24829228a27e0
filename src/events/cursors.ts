import { guarded } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { eventSubscription } from '#contract/kinds/events.ts'
import { cursorBody, cursorId, cursorRow, CURSORS, newCursor, type CursorBody } from '#events/cursor.ts'
import { lastDeadLetters } from '#events/dead-letters.ts'
import type { LeaderLease } from '#events/leader-lease.ts'
import type { Outbox } from '#events/outbox.ts'
import { replayRemovals } from '#events/replays.ts'
import {
  parseConfigEvent,
  subscriptionSpecs,
  subscriptionSpec,
  type SubscriptionSpec,
} from '#events/subscription.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Row, Store, Write } from '#store/store.ts'

/** The writes that start older subscriptions from here on. */
export async function firstCursors(store: Store, sequence: number, log: Log): Promise<Write[]> {
  const subscriptions = await subscriptionSpecs(store, log)
  return subscriptions.flatMap(subscription =>
    subscription.destinationIds.map(destination =>
      insertion(subscription, destination, { sequence, epoch: 1 }),
    ),
  )
}

/** Creates and deletes cursors as the outbox changes. Only the leader does so. */
export class Cursors {
  readonly #store: Store
  readonly #outbox: Outbox
  readonly #lease: LeaderLease
  readonly #log: Log
  /** The cursors of each subscription, as found when this server became leader. */
  #known = new Map<string, Set<string>>()
  #epoch = 0

  constructor({ store, outbox, lease, log }: { store: Store; outbox: Outbox; lease: LeaderLease; log: Log }) {
    this.#log = log
    this.#store = store
    this.#outbox = outbox
    this.#lease = lease
  }

  /** Afterwards each destination of each subscription has a cursor. */
  async keepUp(until: number): Promise<void> {
    if (this.#epoch !== this.#lease.epoch) await this.#load()
    while (this.#lease.sequence < until) {
      const page = await this.#outbox.read(this.#lease.sequence)
      if (page.length === 0) return
      for (const event of page) {
        if (event.sequence > until) return
        // The events in between were pruned.
        if (event.sequence !== this.#lease.sequence + 1) await this.#repair(event.sequence - 1)
        const notice = parseConfigEvent(event)
        if (notice?.is === 'subscription') await this.#apply(notice.subscription, event.sequence)
        else this.#lease.advance(event.sequence)
      }
    }
  }

  /** No event after this one may be pruned yet. */
  async needed(): Promise<number> {
    const sequences: number[] = []
    await this.#each(({ sequence }) => sequences.push(sequence))
    return Math.min(...sequences, Infinity)
  }

  async #load(): Promise<void> {
    const { epoch } = this.#lease
    this.#known = new Map()
    await this.#each(({ subscription_id: subscription }, id) => this.#note(subscription, id))
    await this.#removeOrphans()
    this.#epoch = epoch
  }

  /** The subscription was deleted meanwhile. */
  async #removeOrphans(): Promise<void> {
    const rows = await this.#store.getMany([...this.#known.keys()])
    const there = new Set(rows.filter(({ kind }) => kind === eventSubscription.name).map(({ id }) => id))
    for (const id of this.#known.keys())
      if (!there.has(id)) await this.#apply(subscriptionSpec({ id }), this.#lease.sequence)
  }

  async #repair(sequence: number): Promise<void> {
    const subscriptions = await subscriptionSpecs(this.#store, this.#log)
    await this.#removeOrphans()
    for (const subscription of subscriptions) await this.#apply(subscription, sequence)
    this.#lease.advance(sequence)
  }

  /** An unreadable cursor stops only its own delivery. */
  async #each(visit: (cursor: CursorBody, id: string) => void): Promise<void> {
    const background = { task: 'events', log: this.#log, failed: 'an event cursor cannot be read' } as const
    for (const row of await Array.fromAsync(rowsOf(this.#store, CURSORS)))
      guarded({ ...background, about: { id: row.id } }, () => visit(cursorBody(row), row.id))
  }

  #note(subscriptionId: string, id: string): void {
    const ids = this.#known.get(subscriptionId) ?? new Set()
    this.#known.set(subscriptionId, ids.add(id))
  }

  /** Changes are written together with their position, so they are applied exactly once. */
  #apply(subscription: SubscriptionSpec, sequence: number): Promise<void> {
    const attempt = async (): Promise<void | typeof CONFLICT> => {
      const writes = await this.#writes(subscription, sequence)
      if (writes.length === 0) return this.#lease.advance(sequence)
      const outcome = await this.#lease.commit(writes, sequence)
      if (!outcome.ok) return CONFLICT
      this.#known.delete(subscription.id)
      for (const destination of subscription.destinationIds)
        this.#note(subscription.id, cursorId(subscription.id, destination))
      return undefined
    }
    return retryOnConflict(attempt, () => {
      throw new Error('The cursors of a subscription are changed by others all the time.')
    })
  }

  async #writes(subscription: SubscriptionSpec, sequence: number): Promise<Write[]> {
    const wanted = new Map(subscription.destinationIds.map(each => [cursorId(subscription.id, each), each]))
    const rows = await this.#store.getMany([...(this.#known.get(subscription.id) ?? []), ...wanted.keys()])
    const there = new Set(rows.map(({ id }) => id))
    const gone = await Promise.all(rows.filter(({ id }) => !wanted.has(id)).map(row => this.#removal(row)))
    const begin = { sequence, epoch: this.#lease.epoch }
    const missing = [...wanted].filter(([id]) => !there.has(id))
    return [...gone.flat(), ...missing.map(([, destination]) => insertion(subscription, destination, begin))]
  }

  async #removal({ id, version }: Row): Promise<Write[]> {
    return [
      ...(await lastDeadLetters(this.#store, id, writes => this.#lease.commit(writes))),
      ...(await replayRemovals(this.#store, id)),
      { op: 'remove', id, version },
    ]
  }
}

function insertion(
  subscription: SubscriptionSpec,
  destinationId: string,
  { sequence, epoch }: { sequence: number; epoch: number },
): Write {
  const body = newCursor(subscription.id, destinationId, {
    sequence,
    sources: [...subscription.types],
    epoch,
  })
  return { op: 'insert', entry: { row: cursorRow(body, 1), refs: [], claims: [] } }
}
