import { tunnelGroupBackend } from '#contract/kinds/backends.ts'
import type { ErrorName } from '#base/errors.ts'
import { otherConnections } from '#registry/agent-connections.ts'
import type { Directory, TunnelRecord } from '#registry/directory.ts'
import type { Exchange, Reply } from '#http/exchange.ts'
import { errorReply } from '#http/pages.ts'
import { canRetry } from '#gateway/backends/retry.ts'
import type { RecentNames } from '#gateway/routing/recent-names.ts'
import { type Awaited, forGroup, forHost, Reconnects } from '#gateway/routing/reconnects.ts'
import type { Records } from '#registry/records/records.ts'
import { groupOf, type TunnelGroup } from '#registry/records/tunnel-group.ts'
import type { TunnelIndex } from '#registry/tunnel-index.ts'

interface LinkLossOptions {
  readonly directory: Directory
  readonly index: TunnelIndex
  readonly records: Records
  readonly recent: RecentNames
  /** How long a request waits for an agent; 0: not at all. */
  readonly waitMs: number
}

/** How soon a tunnel that is listed, but was refused, is tried again. */
const AGAIN_MS = 100

/** Errors that a lost agent connection may cause. */
const causes: ReadonlySet<ErrorName | undefined> = new Set([
  'agent_gone',
  'backend_empty',
  'endpoint_expected',
] as const)

/** Retries requests whose agent connection was lost, where that is safe. */
export class LinkLoss {
  readonly #options: LinkLossOptions
  readonly #reconnects: Reconnects
  readonly #startedAt = performance.now()

  constructor(options: LinkLossOptions) {
    this.#options = options
    this.#reconnects = new Reconnects(options.directory, options.waitMs)
  }

  close(): void {
    this.#reconnects.close()
  }

  /** `reply` reports that no service has responded; `route` handles the request again. */
  async recover(exchange: Exchange, reply: Reply, route: () => Promise<Reply>): Promise<Reply> {
    const { context, head, body, clientAbort } = exchange
    // Attempts count too: one at a process that does not respond takes seconds.
    const againUntil = performance.now() + this.#options.waitMs
    let wasSentAgain = false
    let waitedMs = 0
    while (reply.failure !== undefined && causes.has(reply.refusal) && !clientAbort.aborted) {
      const { failure } = reply
      const isSent = failure === 'no-response'
      const failed = {
        isSent,
        isBodyRead: isSent || body.isRead === true,
        hasResponse: false,
        mayResend: !wasSentAgain,
        // Limited by the time that a request may wait.
        attemptsLeft: Infinity,
      }
      if (!canRetry(head, failed)) return isSent ? refused(exchange, reply) : reply
      const begun = performance.now()
      const isBack =
        (isSent && this.#hasOtherConnection(exchange)) ||
        (await this.#isBack(exchange, reply.refusal, { ms: this.#options.waitMs - waitedMs, againUntil }))
      waitedMs += performance.now() - begun
      if (!isBack) break
      if (isSent) {
        wasSentAgain = true
        context.note('sent again, because the connection to the agent was lost before the response')
      }
      reply.body.cancel()
      context.routing.modulesPassed = 0
      reply = await route()
    }
    if (waitedMs >= 1) context.note(`waited ${Math.round(waitedMs)} ms for the agent to reconnect`)
    return reply
  }

  /** Whether the agent can be reached in another way than the one that was lost. */
  #hasOtherConnection({ context: { tunnel } }: Exchange): boolean {
    return tunnel !== undefined && otherConnections(this.#options.directory.tunnels, tunnel).length > 0
  }

  /** Whether a tunnel for the request is online again, now or before the time is over. */
  async #isBack(
    exchange: Exchange,
    refusal: ErrorName | undefined,
    { ms, againUntil }: { readonly ms: number; readonly againUntil: number },
  ): Promise<boolean> {
    const { tunnel } = exchange.context
    if (refusal === 'agent_gone' && tunnel !== undefined && this.#isReplaced(tunnel)) return true
    const awaited = this.#awaited(exchange)
    if (refusal === 'agent_gone' && tunnel !== undefined && this.#isListed(exchange, tunnel))
      return this.#again(exchange, awaited, Math.min(ms, againUntil - performance.now()))
    // Other processes may not know yet that the agent is gone.
    const expectedMs = refusal === 'agent_gone' ? ms : this.#expectedMs(exchange, awaited)
    return this.#reconnects.wait(awaited, Math.min(ms, expectedMs), exchange)
  }

  /**
   * The process of the agent was not reached, or knows better than this one where the agent is, or does not know yet:
   * nothing may tell when that has changed.
   */
  async #again(exchange: Exchange, awaited: Awaited, ms: number): Promise<boolean> {
    const begun = performance.now()
    if (await this.#reconnects.wait(awaited, Math.min(ms, AGAIN_MS), exchange)) return true
    // A request that may not wait returns at once, and must not be tried again and again.
    const hasWaited = performance.now() - begun >= AGAIN_MS / 2
    return hasWaited && ms > AGAIN_MS && !exchange.clientAbort.aborted
  }

  #isReplaced(tunnel: TunnelRecord): boolean {
    const now = this.#options.directory.tunnels.get(tunnel.id)
    return now !== undefined && now !== tunnel
  }

  /** Whether it or a tunnel that replaces it is online. To wait for one that is online already would take the whole limit. */
  #isListed(exchange: Exchange, tunnel: TunnelRecord): boolean {
    const { directory, index } = this.#options
    if (directory.tunnels.has(tunnel.id)) return true
    const group = this.#groupOf(exchange)
    return (group === undefined ? index.pool(tunnel) : index.ofGroup(group)).length > 0
  }

  #awaited(exchange: Exchange): Awaited {
    const group = this.#groupOf(exchange)
    return group === undefined ? forHost(exchange.head.host) : forGroup(group)
  }

  #groupOf({ context: { backendId } }: Exchange): TunnelGroup | undefined {
    const backend =
      backendId === undefined ? undefined : this.#options.records.get(tunnelGroupBackend, backendId)
    return backend === undefined ? undefined : groupOf(backend)
  }

  #expectedMs({ head }: Exchange, awaited: Awaited): number {
    const { recent, waitMs } = this.#options
    // Agents of the previous process are expected for this long after the start.
    const sinceStart = recent.has(head.host) ? this.#startedAt + waitMs - performance.now() : 0
    return Math.max(this.#reconnects.expectedMs(awaited), sinceStart)
  }
}

/** It may have been processed, so it is not sent again, and the client gets the reason. */
function refused({ head }: Exchange, reply: Reply): Reply {
  reply.body.cancel()
  return errorReply('request_lost', head)
}
