import type { ErrorName } from '#base/errors.ts'
import type { Backend, BackendParts, ClosableEndpoint } from '#gateway/backends/backend.ts'
import type { TunnelBalancer } from '#gateway/backends/tunnel-balancer.ts'
import { canRetry } from '#gateway/backends/retry.ts'
import { unreached } from '#gateway/backends/unreached.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Endpoint, UpstreamFailure, ClientConnection } from '#http/exchange.ts'
import { DialError } from '#registry/agent-dialer.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'

const MAX_ATTEMPTS = 3

type MemberParts = Pick<BackendParts, 'makeTunnel' | 'dialer'>

/** The backend of each tunnel, with connections that no other route uses. */
export class Members {
  readonly #balancer: TunnelBalancer
  readonly #parts: MemberParts
  readonly #endpoints = new Map<TunnelRecord, ClosableEndpoint>()

  constructor(balancer: TunnelBalancer, parts: MemberParts) {
    this.#balancer = balancer
    this.#parts = parts
  }

  endpoint(tunnel: TunnelRecord): ClosableEndpoint {
    const known = this.#endpoints.get(tunnel)
    if (known !== undefined) return known
    this.#drop(new Set(this.#balancer.members))
    const endpoint = this.#parts.makeTunnel(tunnel, this.#parts.dialer)
    this.#endpoints.set(tunnel, endpoint)
    return endpoint
  }

  close(): void {
    this.#drop(new Set())
  }

  #drop(kept: ReadonlySet<TunnelRecord>): void {
    for (const [tunnel, endpoint] of this.#endpoints) {
      if (kept.has(tunnel)) continue
      endpoint.close()
      this.#endpoints.delete(tunnel)
    }
  }
}

/** The error without a tunnel that could respond. */
export interface NoTunnel {
  readonly code: ErrorName
  readonly values?: Readonly<Record<string, string>>
}

/** Sends each request to the next tunnel, skipping unreachable ones. */
export function answerBalanced(balancer: TunnelBalancer, members: Members, empty: NoTunnel): Endpoint {
  return async exchange => {
    const { context, clientAbort, head } = exchange
    let failure: UpstreamFailure | undefined
    let tried: TunnelRecord[] | undefined
    let tunnel = balancer.next()
    while (tunnel !== undefined) {
      context.upstream.tunnel = tunnel
      const reply = await members.endpoint(tunnel)(exchange)
      if (reply.failure === undefined) {
        balancer.markHealthy(tunnel)
        return reply
      }
      if (clientAbort.aborted) return reply
      balancer.markFailed(tunnel)
      ;(tried ??= []).push(tunnel)
      const isSent = reply.failure === 'no-response'
      const failed = {
        isSent,
        isBodyRead: isSent,
        hasResponse: false,
        mayResend: failure === undefined,
        attemptsLeft: MAX_ATTEMPTS - tried.length,
      }
      const other = canRetry(head, failed) ? balancer.nextExcluding(tried) : undefined
      // A request that was sent stays sent, even if the last tunnel tried was not reached.
      if (other === undefined) return failure === undefined ? reply : { ...reply, failure }
      if (isSent) failure = reply.failure
      context.note(`tunnel ${tunnel.id}: ${reply.refusal ?? reply.failure}`)
      reply.body.cancel()
      tunnel = other
    }
    context.upstream.tunnel = undefined
    return unreached(empty.code, exchange, empty.values)
  }
}

/** Opens each connection through the next tunnel, skipping unreachable ones. */
export function dialBalanced(
  balancer: TunnelBalancer,
  dial: (tunnel: TunnelRecord, client: ClientConnection, first: Buffer) => Promise<ByteStream>,
): NonNullable<Backend['dial']> {
  return async (client, first) => {
    const tried: TunnelRecord[] = []
    let failure = new DialError('offline', 'No tunnel of the group is online.')
    let tunnel = balancer.next()
    while (tunnel !== undefined && tried.length < MAX_ATTEMPTS) {
      try {
        const stream = await dial(tunnel, client, first)
        balancer.markHealthy(tunnel)
        return stream
      } catch (error) {
        if (!(error instanceof DialError)) throw error
        failure = error
      }
      balancer.markFailed(tunnel)
      tried.push(tunnel)
      tunnel = balancer.nextExcluding(tried)
    }
    throw failure
  }
}
