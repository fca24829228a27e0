import { Holdings } from '#base/holdings.ts'
import { TunnelError } from '#tunnel/frame.ts'
import type { OpenOptions } from '#tunnel/mux-session-options.ts'
import { type StreamSlot, StreamSlots } from '#tunnel/stream-slots.ts'

interface QueuedOpen {
  readonly client: string
  readonly admit: (slot: StreamSlot) => void
  readonly refuse: (error: unknown) => void
}

interface OpenLimits {
  readonly maxOpen: number
  readonly maxWaiting: number
  /** How long a stream that was reset here still counts: the peer frees it later. */
  readonly leaveMs: number
}

/** How often waiting opens are checked: connections may have stalled meanwhile. */
const CHECK_MS = 250
/** Streams of the session itself; they belong to no client. */
const OWN = ''
/** Counts open streams, and queues opens above the limit: in order for one client, the client with fewest first. */
export class OpenQueue {
  readonly slots: StreamSlots
  readonly #maxWaiting: number
  readonly #leaveMs: number
  readonly #waiters = new Holdings<string>()
  #count = 0
  readonly #waiting = new Map<string, Set<QueuedOpen>>()
  #stopped: TunnelError | undefined
  #timer: NodeJS.Timeout | undefined
  #admitting = false

  constructor({ maxOpen, maxWaiting, leaveMs }: OpenLimits) {
    this.#leaveMs = leaveMs
    this.slots = new StreamSlots(maxOpen)
    this.#maxWaiting = maxWaiting
  }

  /** Takes a slot for a client, at once or when there is one. */
  async enter(options: OpenOptions): Promise<StreamSlot> {
    if (this.#stopped !== undefined) throw this.#stopped
    const { client, signal } = options
    signal?.throwIfAborted()
    const key = client ?? OWN
    const slot = this.#waiting.has(key) ? undefined : this.slots.take(client)
    return slot ?? this.#wait(key, options)
  }

  /** Releases a slot; a waiting open may take it. */
  leave(slot: StreamSlot): void {
    this.slots.leave(slot)
    this.admit()
  }

  /** Releases a slot that the peer frees only later. */
  leaveSoon(slot: StreamSlot): void {
    this.slots.evacuate(slot)
    setTimeout(() => this.leave(slot), this.#leaveMs).unref()
  }

  /** Admits waiting opens that have a slot now. */
  admit(): void {
    // An evicted stream releases its slot while it is being requested.
    if (this.#admitting || this.#waiting.size === 0) return
    this.#admitting = true
    for (let admits = true; admits;) {
      admits = false
      for (const [client, queue] of this.#fewestFirst()) if (this.#admitOne(client, queue)) admits = true
    }
    this.#admitting = false
  }

  stop(reason: TunnelError): void {
    this.#stopped ??= reason
    for (const queue of this.#waiting.values()) for (const waiting of queue) waiting.refuse(reason)
  }

  #fewestFirst(): (readonly [string, Set<QueuedOpen>])[] {
    const held = ([client]: readonly [string, unknown]): number => this.slots.heldBy(client)
    return [...this.#waiting].toSorted((one, other) => held(one) - held(other))
  }

  #admitOne(client: string, queue: Set<QueuedOpen>): boolean {
    const [next] = queue
    const slot = next && this.slots.take(client === OWN ? undefined : client)
    if (next === undefined || slot === undefined) return false
    this.#forget(next)
    next.admit(slot)
    return true
  }

  async #wait(client: string, { signal, waitMs }: OpenOptions): Promise<StreamSlot> {
    if (this.#count >= this.#maxWaiting && !this.#refuseOne(client)) throw tooMany()
    const { promise, resolve, reject } = Promise.withResolvers<StreamSlot>()
    const waiting: QueuedOpen = { client, admit: resolve, refuse: reject }
    const giveUp = (): void => {
      // At once, so that it gets no more slots.
      this.#forget(waiting)
      reject(signal?.aborted === true ? signal.reason : tooMany())
    }
    this.#remember(waiting)
    const timer = waitMs === undefined ? undefined : setTimeout(giveUp, waitMs).unref()
    signal?.addEventListener('abort', giveUp)
    try {
      return await promise
    } finally {
      this.#forget(waiting)
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    }
  }

  /** The latest of the client with most waiting opens is rejected, unless that is the new one. */
  #refuseOne(client: string): boolean {
    const largest = this.#waiters.largest()
    if (largest === undefined || this.#waiters.of(client) + 1 >= this.#waiters.most) return false
    const latest = [...(this.#waiting.get(largest) ?? [])].at(-1)
    if (latest === undefined) return false
    this.#forget(latest)
    latest.refuse(tooMany())
    return true
  }

  #remember(waiting: QueuedOpen): void {
    const queue = this.#waiting.get(waiting.client) ?? new Set()
    this.#waiting.set(waiting.client, queue.add(waiting))
    this.#waiters.add(waiting.client)
    this.#count++
    this.#timer ??= setInterval(() => this.admit(), CHECK_MS).unref()
  }

  #forget(waiting: QueuedOpen): void {
    const { client } = waiting
    const queue = this.#waiting.get(client)
    if (queue?.delete(waiting) !== true) return
    this.#waiters.remove(client)
    this.#count--
    if (queue.size === 0) this.#waiting.delete(client)
    if (this.#waiting.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const tooMany = (): TunnelError => new TunnelError('streams_exhausted', 'Too many streams wait to be opened.')
