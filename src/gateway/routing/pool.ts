import type { Backend, BackendParts, ClosableEndpoint } from '#gateway/backends/backend.ts'
import { GroupTurns } from '#gateway/backends/group-turns.ts'
import { answerInTurns, dialInTurns, Members } from '#gateway/backends/in-turns.ts'
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
  const turns = new GroupTurns(index, () => index.pool(tunnel))
  return {
    backend() {
      const members = new Members(turns, parts)
      return Object.assign(answerInTurns(turns, members, 'agent_gone'), { close: () => members.close() })
    },
    dial: dialInTurns(turns, (member, client, first) => tunnelUpstream(member, dialer).dial(client, first)),
  }
}
