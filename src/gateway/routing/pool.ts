import type { Backend, BackendParts, ClosableEndpoint } from '#gateway/backends/backend.ts'
import { TunnelBalancer } from '#gateway/backends/tunnel-balancer.ts'
import { answerBalanced, dialBalanced, Members } from '#gateway/backends/balanced.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import { tunnelUpstream } from '#gateway/routing/upstreams.ts'

type PoolParts = Pick<BackendParts, 'index' | 'dialer' | 'makeTunnel'>

/** The tunnels that share an address. They have the same options, so any of them can provide the modules. */
export interface Pool {
  /** Handles requests, with its own connections. */
  backend(): ClosableEndpoint
  readonly dial: NonNullable<Backend['dial']>
}

export function poolOf(tunnel: TunnelRecord, parts: PoolParts): Pool {
  const { index, dialer } = parts
  const balancer = new TunnelBalancer(index, () => index.pool(tunnel))
  return {
    backend() {
      const members = new Members(balancer, parts)
      return Object.assign(answerBalanced(balancer, members, { code: 'agent_gone' }), {
        close: () => members.close(),
      })
    },
    dial: dialBalanced(balancer, (member, client, first) =>
      tunnelUpstream(member, dialer).dial(client, first),
    ),
  }
}
