import type { SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { AgentConnection } from '#registry/agent-dialer.ts'

/** A tunnel of a session, and whether it is ready for connections. */
export class BoundTunnel {
  readonly record: TunnelRecord
  /** False: left from an earlier connection of the agent, and not requested again yet. */
  readonly bound: boolean
  readonly #settled = Promise.withResolvers<void>()
  #open = false

  constructor(record: TunnelRecord, bound: boolean) {
    this.record = record
    this.bound = bound
  }

  get open(): boolean {
    return this.#open
  }

  /** The agent is ready for connections. */
  markReady(): void {
    this.#open = true
    this.#settled.resolve()
  }

  /** The tunnel is closed, or another connection of its agent has it: waiters check again. */
  cancel(): void {
    this.#settled.resolve()
  }

  /** Resolves on a change, or when the time is over. */
  whenSettled(timeoutMs: number): Promise<void> {
    return within(this.#settled.promise, timeoutMs)
  }
}

/** Resolves with the promise, or when the time is over. */
async function within(settled: Promise<void>, timeoutMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, timeoutMs)
  await Promise.race([settled, promise])
  clearTimeout(timer)
}

/** An agent connected to this process, with its tunnels. */
export class ConnectedAgent {
  readonly record: SessionRecord
  /** Of its credential. */
  readonly ownerId: string
  readonly connection: AgentConnection
  readonly tunnels = new Map<string, BoundTunnel>()
  #pending = 0
  #bindEnded: PromiseWithResolvers<void> | undefined
  readonly #labelled = new Map<string, number>()

  constructor(record: SessionRecord, ownerId: string, connection: AgentConnection) {
    this.record = record
    this.ownerId = ownerId
    this.connection = connection
  }

  /** Takes over the tunnels of an earlier connection of the same agent; each is served again once it is bound. */
  inherit(earlier: ConnectedAgent): void {
    for (const [id, bound] of earlier.tunnels) this.tunnels.set(id, new BoundTunnel(bound.record, false))
    for (const [key, count] of earlier.#labelled) this.#labelled.set(key, count)
  }

  /** Bindings in progress. */
  get pending(): number {
    return this.#pending
  }

  beginBind(): void {
    this.#pending++
  }

  endBind(): void {
    this.#pending--
    this.#bindEnded?.resolve()
    this.#bindEnded = undefined
  }

  /** Resolves when one of the bindings in progress has ended, or the time is over. */
  whenBindEnds(timeoutMs: number): Promise<void> {
    return within((this.#bindEnded ??= Promise.withResolvers<void>()).promise, timeoutMs)
  }

  /** Counts the tunnels with these labels; one more on each call. */
  countLabelled(key: string): number {
    const count = this.#labelled.get(key) ?? 0
    this.#labelled.set(key, count + 1)
    return count
  }

  hold(bound: BoundTunnel): void {
    this.tunnels.get(bound.record.id)?.cancel()
    this.tunnels.set(bound.record.id, bound)
  }

  drop(tunnelId: string): void {
    this.tunnels.get(tunnelId)?.cancel()
    this.tunnels.delete(tunnelId)
  }
}
