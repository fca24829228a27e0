import type { Log } from '#base/log.ts'
import { allowsEvent, ownerIn, type Actor } from '#contract/access-rule.ts'
import { eventSubscription } from '#contract/kinds/events.ts'
import { owners } from '#contract/targets.ts'
import type { OutgoingEvent } from '#events/destination.ts'
import { StoreError } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'

/** How long a change by another process may go unnoticed. */
const FRESH_MS = 500
/** A subscription shared by all members gets what any of them may read. */
const ANY_MEMBER: Actor = { id: '-', role: 'member' }
const MAX_LOGGED = 1000

interface Known {
  readonly generation: number
  readonly readAt: number
  /** Undefined: the owner is not active, or does not exist. */
  readonly reader: Actor | undefined
}

interface User {
  readonly role?: 'admin' | 'member'
  readonly active: boolean
}

/** Decides which events a subscription may get: those that its owner may read when they are sent. */
export class Readership {
  readonly #store: Store
  readonly #log: Log
  readonly #known = new Map<string, Known>()
  readonly #logged = new Set<string>()
  #generation = 0

  constructor(store: Store, log: Log) {
    this.#store = store
    this.#log = log
    store.onCommit(() => this.#generation++)
  }

  async allowed(subscriptionId: string, events: readonly OutgoingEvent[]): Promise<readonly OutgoingEvent[]> {
    const reader = await this.#readerOf(subscriptionId)
    const allowed = events.filter(event => reader !== undefined && mayRead(reader, event))
    if (allowed.length < events.length) this.#report(subscriptionId, events, allowed)
    return allowed
  }

  async #readerOf(subscriptionId: string): Promise<Actor | undefined> {
    const known = this.#known.get(subscriptionId)
    const generation = this.#generation
    if (known?.generation === generation && performance.now() - known.readAt < FRESH_MS) return known.reader
    const readAt = performance.now()
    try {
      const reader = await this.#read(subscriptionId)
      this.#known.set(subscriptionId, { generation, readAt, reader })
      return reader
    } catch (error) {
      // Traffic is delivered while the database is unavailable, by the last known permissions.
      if (known && error instanceof StoreError) return known.reader
      throw error
    }
  }

  async #read(subscriptionId: string): Promise<Actor | undefined> {
    const row = await this.#store.get(subscriptionId)
    if (row?.kind !== eventSubscription.name) return undefined
    const id = ownerIn(JSON.parse(row.body) as Record<string, unknown>)
    if (id === '') return ANY_MEMBER
    const owner = await this.#store.get(id)
    if (!owner || !owners.kinds.includes(owner.kind)) return undefined
    const { active, role = 'member' } = JSON.parse(owner.body) as User
    return active ? { id, role } : undefined
  }

  /** Once for each subscription and type: an operator must see why nothing arrives. */
  #report(subscription: string, events: readonly OutgoingEvent[], allowed: readonly OutgoingEvent[]): void {
    const sent = new Set(allowed)
    for (const event of events) {
      const key = `${subscription} ${event.type}`
      if (sent.has(event) || this.#logged.has(key) || this.#logged.size >= MAX_LOGGED) continue
      this.#logged.add(key)
      this.#log.warn(
        { subscription, type: event.type },
        'event not delivered: the owner of the subscription may not read it, or is not active',
      )
    }
  }
}

// The body of a traffic event is built on demand.
const mayRead = (reader: Actor, event: OutgoingEvent): boolean =>
  allowsEvent(reader, event.type, () => (JSON.parse(event.body) as { readonly object?: unknown }).object)
