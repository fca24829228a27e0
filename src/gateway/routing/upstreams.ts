import type { TunnelRecord } from '#registry/directory.ts'
import { DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import type { L4Upstream } from '#gateway/listeners/l4-proxy.ts'
import { clientAddress } from '#base/client-network.ts'
import { usageThrough } from '#gateway/routing/usage.ts'
import { connectionFilter, allowAll } from '#gateway/modules/index.ts'

/** Connects only allowed clients. */
export function filtered(upstream: L4Upstream, allows: (ip: string) => boolean): L4Upstream {
  if (allows === allowAll) return upstream
  return {
    ...upstream,
    decide: ip => (allows(ip) && upstream.decide?.(ip) !== 'block' ? 'allow' : 'block'),
    async dial(client, first) {
      if (!allows(client.ip)) throw new DialError('offline', `${client.ip} is not allowed.`)
      return upstream.dial(client, first)
    },
  }
}

/** Connections without HTTP to a tunnel with its own address. */
export function tunnelUpstream(tunnel: TunnelRecord, dialer: Pick<AgentDialer, 'dial'>): L4Upstream {
  const { options, address, id } = tunnel
  const Proto = address?.scheme ?? ''
  const PassthroughTLS = Proto === 'tls' && options.TLSTermination === null
  const dial: L4Upstream['dial'] = (client, first) => {
    const header = { Id: id, ClientAddr: clientAddress(client), Proto, EdgeType: '0', PassthroughTLS }
    client.onTunnel?.(tunnel)
    return dialer.dial(tunnel, header, first)
  }
  return filtered(
    { proxyProtocol: options.ProxyProto, dial, usage: usageThrough(tunnel) },
    connectionFilter(options),
  )
}
