import { type AgentDialer, DialError } from '#registry/agent-dialer.ts'
import type { TunnelRecord } from '#registry/directory.ts'

interface CheckedDialOptions {
  readonly local: Pick<AgentDialer, 'dial'>
  readonly tunnels: ReadonlyMap<string, TunnelRecord>
  /** False while other nodes may own what this one has. */
  readonly isCurrent: () => boolean
  /** Renews the lease; `tunnels` is then up to date. */
  readonly refresh: () => Promise<void>
}

/** After a suspension another node may own an address, so the lease is checked before the agent is used. */
export function checkedDial({ local, tunnels, isCurrent, refresh }: CheckedDialOptions): AgentDialer['dial'] {
  return async (tunnel, header, first) => {
    if (!isCurrent()) {
      await refresh().catch((error: unknown) => {
        throw new DialError('offline', 'The lease of the node could not be checked.', error)
      })
      if (tunnels.get(tunnel.id)?.node !== tunnel.node)
        throw new DialError('offline', `The tunnel ${tunnel.id} is at another node.`)
    }
    return local.dial(tunnel, header, first)
  }
}
