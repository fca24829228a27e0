import { Holdings } from '#base/holdings.ts'
import type { Directory, TunnelRecord } from '#registry/directory.ts'
import type { Exchange } from '#http/exchange.ts'
import { joins, type TunnelGroup } from '#registry/records/tunnel-group.ts'
import { wildcardsOver } from '#base/hosts.ts'

// An owner whose agents constantly reconnect must not evict the losses of others.
const MAX_LOSSES = 10_000
const MAX_OF_OWNER = 1000
const MAX_WAITING = 10_000

/** What a request waits for: a matching tunnel with one of these keys. */
export interface Awaited {
  readonly keys: readonly string[]
  readonly fits: (tunnel: TunnelRecord) => boolean
}

/** A tunnel for a host, by its name or a wildcard over it. */
export const forHost = (host: string): Awaited => ({
  keys: [host, ...wildcardsOver(host)],
  fits: () => true,
})

/** A member of a group. */
export const forGroup = (group: TunnelGroup): Awaited => ({
  keys: [labelKey(group.ownerId)],
  fits: tunnel => joins(tunnel, group),
})

const labelKey = (ownerId: string): string => `labels ${ownerId}`

function keysOf({ address, ownerId }: TunnelRecord): readonly string[] {
  // Groups without an owner contain the tunnels of all users.
  if (address === undefined) return [labelKey(ownerId), labelKey('')]
  return address.scheme === 'tcp' ? [] : [address.host]
}

interface Loss {
  readonly tunnel: TunnelRecord
  readonly until: number
}

/** Lets requests wait for tunnels whose agents have just lost their connection. */
export class Reconnects {
  readonly #waitMs: number
  /** The oldest come first. */
  readonly #losses = new Map<string, Loss>()
  readonly #byKey = new Map<string, Set<Loss>>()
  readonly #owners = new Holdings<string>()
  readonly #waiting = new Map<string, Set<(tunnel: TunnelRecord | undefined) => void>>()
  #waits = 0
  readonly #stop: () => void

  /** `waitMs`: how long a tunnel is expected to return. */
  constructor(directory: Directory, waitMs: number) {
    this.#waitMs = waitMs
    this.#stop = directory.watch({
      added: tunnel => {
        this.#forget(tunnel.id)
        for (const key of keysOf(tunnel)) for (const wake of this.#waiting.get(key) ?? []) wake(tunnel)
      },
      removed: (tunnel, isLost) => (isLost ? this.#add(tunnel) : this.#forget(tunnel.id)),
    })
  }

  /** Ends all waits. */
  close(): void {
    this.#stop()
    for (const wakes of this.#waiting.values()) for (const wake of wakes) wake(undefined)
  }

  /** For how many milliseconds more a matching tunnel is expected; 0 when none is. */
  expectedMs({ keys, fits }: Awaited): number {
    if (this.#losses.size === 0) return 0
    const fitting = keys.flatMap(key =>
      [...(this.#byKey.get(key) ?? [])].filter(({ tunnel }) => fits(tunnel)),
    )
    return Math.max(0, ...fitting.map(({ until }) => until - performance.now()))
  }

  /** Resolves to true when a matching tunnel came online, and to false when none did or the client has gone. */
  async wait({ keys, fits }: Awaited, ms: number, { clientAbort }: Exchange): Promise<boolean> {
    if (this.#waits >= MAX_WAITING || clientAbort.aborted || ms <= 0) return false
    this.#waits++
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const wake = (tunnel: TunnelRecord | undefined): void => {
      if (tunnel === undefined) resolve(false)
      else if (fits(tunnel)) resolve(true)
    }
    for (const key of keys) this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(wake))
    const timer = setTimeout(() => resolve(false), ms)
    clientAbort.onAbort(() => resolve(false))
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      this.#waits--
      for (const key of keys) {
        const waiting = this.#waiting.get(key)
        waiting?.delete(wake)
        if (waiting?.size === 0) this.#waiting.delete(key)
      }
    }
  }

  #add(tunnel: TunnelRecord): void {
    this.#prune()
    this.#forget(tunnel.id)
    const keys = keysOf(tunnel)
    const isFull = this.#losses.size >= MAX_LOSSES || this.#owners.of(tunnel.ownerId) >= MAX_OF_OWNER
    if (keys.length === 0 || this.#waitMs === 0 || isFull) return
    const loss = { tunnel, until: performance.now() + this.#waitMs }
    this.#losses.set(tunnel.id, loss)
    this.#owners.add(tunnel.ownerId)
    for (const key of keys) this.#byKey.set(key, (this.#byKey.get(key) ?? new Set()).add(loss))
  }

  #forget(id: string): void {
    const loss = this.#losses.get(id)
    if (loss === undefined) return
    this.#losses.delete(id)
    const { tunnel } = loss
    this.#owners.remove(tunnel.ownerId)
    for (const key of keysOf(tunnel)) {
      const losses = this.#byKey.get(key)
      losses?.delete(loss)
      if (losses?.size === 0) this.#byKey.delete(key)
    }
  }

  #prune(): void {
    const now = performance.now()
    for (const [id, { until }] of this.#losses) {
      if (until > now) return
      this.#forget(id)
    }
  }
}
